import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { spawnSandboxedServer } from './open-sandbox.ts'

/** A command that goes on a step whenever it is told to. */
async function stepping({ toolbox }: ToolWorkspace, ...steps: string[]) {
  const command = steps.map((step) => `${step}; echo done; read`).join('; ')
  const work = await toolbox.sandbox.spawn({ command, stdin: 'pipe' })
  const waiting = steps.map(() => Promise.withResolvers<void>())
  let done = 0
  work.child.stdout?.on('data', (chunk: Buffer) => {
    for (const _ of chunk.toString('utf8').matchAll(/done\n/g)) waiting[done++]?.resolve()
  })
  const reached = waiting.map(({ promise }) => promise)
  const ended = async () => {
    work.child.stdin?.end()
    return work.ended
  }
  return { reached, goOn: () => work.child.stdin?.write('\n'), ended }
}

test('SB28 nothing outside is removed by way of a link that another command made', async () => {
  using bench = createToolWorkspace()
  const repository = join(bench.outside, 'repository')
  const work = join(bench.outside, 'other/commondir')
  for (const folder of [repository, work]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(repository, 'commondir'), '../..\n')
  writeFileSync(join(work, 'work.txt'), 'of a person')
  const first = await stepping(
    bench,
    'mkdir -p a/.git/hooks b/.git/hooks; touch a/.git/config b/.git/config',
    `mv a/.git a/old; ln -s ${repository} a/.git; mv b/.git b/old; ln -s ${bench.outside}/other b/.git`,
  )
  await first.reached[0]
  const second = await stepping(bench, 'true')
  await second.reached[0]
  first.goOn()
  await first.reached[1]
  // The trap stands: by its name, the file in the other repository is in reach.
  expect(readdirSync(join(bench.workspace, 'a/.git/'))).toEqual(['commondir'])
  await second.ended()
  await first.ended()
  expect(readFileSync(join(repository, 'commondir'), 'utf8')).toBe('../..\n')
  expect(readFileSync(join(work, 'work.txt'), 'utf8')).toBe('of a person')
})

test('SB28 a redirection that a command leaves is moved aside and told, whatever it is', async () => {
  using bench = createToolWorkspace()
  bench.writeFile('.git/config', '')
  for (const make of ['echo ../evil > .git/commondir', 'mkdir .git/commondir; echo x > .git/commondir/x']) {
    const { text } = await bench.call('Bash', { command: make })
    expect(text).toMatch(/'\.git\/commondir' would lead git astray; it is now '\.git\/commondir\.replaced-/)
    expect(existsSync(join(bench.workspace, '.git/commondir'))).toBe(false)
  }
  expect(readdirSync(join(bench.workspace, '.git')).filter((name) => name.includes('replaced')).length).toBe(2)
})

test('SB28 nothing is made where a repository points to, outside', async () => {
  using bench = createToolWorkspace()
  mkdirSync(join(bench.outside, 'victim'))
  bench.writeFile('a/.git', `gitdir: ${bench.outside}/victim\n`)
  mkdirSync(join(bench.workspace, 'b'))
  symlinkSync(join(bench.outside, 'victim'), join(bench.workspace, 'b/.git'))
  mkdirSync(join(bench.workspace, 'c/.git/modules'), { recursive: true })
  mkdirSync(join(bench.outside, 'module'))
  writeFileSync(join(bench.outside, 'module/HEAD'), '')
  symlinkSync(join(bench.outside, 'module'), join(bench.workspace, 'c/.git/modules/m'))
  expect(await bench.call('Bash', { command: 'echo fine' })).toMatchObject({ success: true })
  expect(readdirSync(join(bench.outside, 'victim'))).toEqual([])
  expect(readdirSync(join(bench.outside, 'module'))).toEqual(['HEAD'])
})

test('SB22 a server at work does not have what a person does meanwhile undone', async () => {
  using bench = createToolWorkspace()
  bench.writeFile('shared/good.md', 'good')
  mkdirSync(join(bench.workspace, '.claude'))
  const agents = join(bench.workspace, '.claude/agents')
  symlinkSync('../shared', agents)
  const server = await spawnSandboxedServer(bench.toolbox.sandbox, { command: ['cat'] })
  rmSync(agents)
  bench.writeFile('.claude/agents/mine.md', 'hours of work')
  expect(await bench.call('Bash', { command: 'echo fine' })).toMatchObject({ output: 'fine\n' })
  server.child.stdin?.end()
  await server.ended
  expect(readFileSync(join(agents, 'mine.md'), 'utf8')).toBe('hours of work')
})

test('SB31 a command that takes the right to write from the workspace leaves no cover behind', async () => {
  using bench = createToolWorkspace()
  expect(await bench.call('Bash', { command: 'chmod 500 .' })).toMatchObject({ success: true })
  expect(statSync(bench.workspace).mode & 0o300).toBe(0o300)
  expect(readdirSync(bench.workspace).filter((name) => name !== '.troupe')).toEqual([])
})
