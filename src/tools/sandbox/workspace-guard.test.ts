import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { spawnSandboxedServer } from './open-sandbox.ts'

/** Starts a command that waits after each step until `continueCommand` is called. */
async function startStepwise({ toolbox }: ToolWorkspace, ...steps: string[]) {
  const command = steps.map((step) => `${step}; echo done; read`).join('; ')
  const running = await toolbox.sandbox.spawn({ command, stdin: 'pipe' })
  const pending = steps.map(() => Promise.withResolvers<void>())
  let done = 0
  running.child.stdout?.on('data', (chunk: Buffer) => {
    for (const _ of chunk.toString('utf8').matchAll(/done\n/g)) pending[done++]?.resolve()
  })
  const reached = pending.map(({ promise }) => promise)
  const end = async () => {
    running.child.stdin?.end()
    return running.ended
  }
  return { reached, continueCommand: () => running.child.stdin?.write('\n'), end }
}

test('SB28 a symlink of another command does not make Troupe delete anything outside', async () => {
  using fixture = createToolWorkspace()
  const repository = join(fixture.outside, 'repository')
  const otherFolder = join(fixture.outside, 'other/commondir')
  for (const folder of [repository, otherFolder]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(repository, 'commondir'), '../..\n')
  writeFileSync(join(otherFolder, 'work.txt'), 'written by a person')
  const first = await startStepwise(
    fixture,
    'mkdir -p a/.git/hooks b/.git/hooks; touch a/.git/config b/.git/config',
    `mv a/.git a/old; ln -s ${repository} a/.git; mv b/.git b/old; ln -s ${fixture.outside}/other b/.git`,
  )
  await first.reached[0]
  const second = await startStepwise(fixture, 'true')
  await second.reached[0]
  first.continueCommand()
  await first.reached[1]
  // The trap is set: by its path, the file of the other repository is reachable.
  expect(readdirSync(join(fixture.workspace, 'a/.git/'))).toEqual(['commondir'])
  await second.end()
  await first.end()
  expect(readFileSync(join(repository, 'commondir'), 'utf8')).toBe('../..\n')
  expect(readFileSync(join(otherFolder, 'work.txt'), 'utf8')).toBe('written by a person')
})

test('SB28 a commondir that a command creates is renamed and reported', async () => {
  using fixture = createToolWorkspace()
  fixture.writeFile('.git/config', '')
  for (const make of ['echo ../evil > .git/commondir', 'mkdir .git/commondir; echo x > .git/commondir/x']) {
    const { text } = await fixture.call('Bash', { command: make })
    expect(text).toMatch(
      /'\.git\/commondir' would redirect git to other hooks; it was renamed to '\.git\/commondir\.replaced-/,
    )
    expect(existsSync(join(fixture.workspace, '.git/commondir'))).toBe(false)
  }
  expect(readdirSync(join(fixture.workspace, '.git')).filter((name) => name.includes('replaced')).length).toBe(2)
})

test('SB28 nothing is created in a git folder outside the workspace', async () => {
  using fixture = createToolWorkspace()
  mkdirSync(join(fixture.outside, 'victim'))
  fixture.writeFile('a/.git', `gitdir: ${fixture.outside}/victim\n`)
  mkdirSync(join(fixture.workspace, 'b'))
  symlinkSync(join(fixture.outside, 'victim'), join(fixture.workspace, 'b/.git'))
  mkdirSync(join(fixture.workspace, 'c/.git/modules'), { recursive: true })
  mkdirSync(join(fixture.outside, 'module'))
  writeFileSync(join(fixture.outside, 'module/HEAD'), '')
  symlinkSync(join(fixture.outside, 'module'), join(fixture.workspace, 'c/.git/modules/m'))
  expect(await fixture.call('Bash', { command: 'echo fine' })).toMatchObject({ success: true })
  expect(readdirSync(join(fixture.outside, 'victim'))).toEqual([])
  expect(readdirSync(join(fixture.outside, 'module'))).toEqual(['HEAD'])
})

test('SB22 changes that a person makes while a server runs are kept', async () => {
  using fixture = createToolWorkspace()
  fixture.writeFile('shared/good.md', 'good')
  mkdirSync(join(fixture.workspace, '.claude'))
  const agents = join(fixture.workspace, '.claude/agents')
  symlinkSync('../shared', agents)
  const server = await spawnSandboxedServer(fixture.toolbox.sandbox, { command: ['cat'] })
  rmSync(agents)
  fixture.writeFile('.claude/agents/mine.md', 'hours of work')
  expect(await fixture.call('Bash', { command: 'echo fine' })).toMatchObject({ output: 'fine\n' })
  server.child.stdin?.end()
  await server.ended
  expect(readFileSync(join(agents, 'mine.md'), 'utf8')).toBe('hours of work')
})

test('SB31 a command that removes the write permission of the workspace leaves no mount point behind', async () => {
  using fixture = createToolWorkspace()
  expect(await fixture.call('Bash', { command: 'chmod 500 .' })).toMatchObject({ success: true })
  expect(statSync(fixture.workspace).mode & 0o300).toBe(0o300)
  expect(readdirSync(fixture.workspace).filter((name) => name !== '.troupe')).toEqual([])
})

/** A repository below more folders than a scan visits, and whether a command can write its hooks. */
async function plantHookBehindFolders(count: number): Promise<boolean> {
  using fixture = createToolWorkspace()
  const { workspace, toolbox } = fixture
  for (let index = 0; index < count; index += 1) mkdirSync(join(workspace, `f${index}`))
  const hooks = join(workspace, 'z/deep/repository/.git/hooks')
  mkdirSync(hooks, { recursive: true })
  writeFileSync(join(hooks, '../HEAD'), 'ref: refs/heads/main\n')
  const running = await toolbox.sandbox.spawn({
    command: 'echo evil > z/deep/repository/.git/hooks/post-commit; echo ok > z/deep/file',
  })
  await running.ended
  expect(existsSync(join(workspace, 'z/deep/file'))).toBe(count < 10_000)
  return existsSync(join(hooks, 'post-commit'))
}

test('SB36 ten thousand folders do not hide a repository: what is not searched is read-only', async () => {
  expect(await plantHookBehindFolders(5)).toBe(false)
  expect(await plantHookBehindFolders(10_050)).toBe(false)
})

test('SB3 a repository eight folders below the root is protected, and files there can be written', async () => {
  using fixture = createToolWorkspace()
  const folder = 'a/b/c/d/e/f/g/h'
  mkdirSync(join(fixture.workspace, folder, '.git/hooks'), { recursive: true })
  const command = `echo evil > ${folder}/.git/hooks/post-commit; echo ok > ${folder}/file`
  await (await fixture.toolbox.sandbox.spawn({ command })).ended
  expect(existsSync(join(fixture.workspace, folder, '.git/hooks/post-commit'))).toBe(false)
  expect(existsSync(join(fixture.workspace, folder, 'file'))).toBe(true)
})

test('SB37 an empty file that a command leaves cannot be filled later by another name', async () => {
  using fixture = createToolWorkspace()
  const run = async (command: string) => (await fixture.toolbox.sandbox.spawn({ command })).ended
  await run('touch x alone; ln x .envrc')
  expect(existsSync(join(fixture.workspace, '.envrc'))).toBe(false)
  await run('echo evil > x')
  expect(existsSync(join(fixture.workspace, '.envrc'))).toBe(false)
  expect(readFileSync(join(fixture.workspace, 'x'), 'utf8')).toBe('evil\n')
})
