import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTools } from '../../src/tools/tools.ts'
import { runHardLinkAttempt } from './file-tools.attempts.ts'
import { callTool, createToolWorkspace } from './tool-workspace.ts'

const SECRET = 'raced-secret'

/** Another process swaps a folder for a link to the outside and back, as fast as it can. */
function startSwapping(workspace: string, outside: string): Disposable {
  const script = `
    const { renameSync, symlinkSync, unlinkSync } = require('fs')
    process.chdir(${JSON.stringify(workspace)})
    symlinkSync(${JSON.stringify(outside)}, 'link')
    for (;;) {
      try { renameSync('d', 'kept'); renameSync('link', 'd') } catch {}
      try { renameSync('d', 'link'); renameSync('kept', 'd') } catch {}
    }`
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' })
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

function createRaceFixture() {
  const fixture = createToolWorkspace()
  mkdirSync(join(fixture.workspace, 'd'))
  writeFileSync(join(fixture.workspace, 'd', 'a.txt'), 'harmless')
  writeFileSync(join(fixture.outside, 'a.txt'), SECRET)
  return fixture
}

/** The careless way: look first, then use the path again. */
function readWithCheckThenUse(workspace: string): string {
  const path = join(workspace, 'd', 'a.txt')
  try {
    return realpathSync(path).startsWith(`${workspace}/`) ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}

test('TO43 a folder swapped for a link between check and use leads no file tool out', { timeout: 60_000 }, async () => {
  using fixture = createRaceFixture()
  using _swapper = startSwapping(fixture.workspace, fixture.outside)
  let fooled = false
  for (let until = performance.now() + 15_000; !fooled && performance.now() < until; ) {
    fooled = readWithCheckThenUse(fixture.workspace) === SECRET
  }
  expect(fooled, 'the control: a careless check is fooled').toBe(true)

  const answers = new Set<string>()
  for (let until = performance.now() + 3000; performance.now() < until; ) {
    answers.add((await fixture.call('Read', { file_path: 'd/a.txt' })).text)
  }
  expect([...answers].filter((text) => text.includes(SECRET))).toEqual([])
  expect([...answers].some((text) => text.includes('harmless'))).toBe(true)
  for (let until = performance.now() + 2000; performance.now() < until; ) {
    await fixture.call('Write', { file_path: 'd/marker', content: 'x' })
  }
  expect(readdirSync(fixture.outside)).toEqual(['a.txt'])
})

test('TO61 a change goes where permission was given for, or nowhere', async () => {
  using fixture = createRaceFixture()
  fixture.writeFile('Makefile', 'all:\n')
  await fixture.call('Read', { file_path: 'Makefile' })
  const write = fixture.toolbox.tools.find(({ name }) => name === 'Write')
  const subjectOf = (file_path: string) => write?.subject?.({ file_path, content: '' } as never)
  const subject = subjectOf('note.txt') ?? ''
  const inFolder = subjectOf('new/folder/a.txt') ?? ''
  expect([subject, inFolder]).toEqual(['note.txt', 'new/folder/a.txt'])
  // A person is being asked, and meanwhile:
  symlinkSync('Makefile', join(fixture.workspace, 'note.txt'))
  symlinkSync('d', join(fixture.workspace, 'new'))
  const wanted = { file_path: 'note.txt', content: 'all: evil\n' }
  expect(await fixture.call('Write', wanted, { subject })).toMatchObject({ success: false, code: 'denied' })
  const edit = { file_path: 'note.txt', old_string: 'all:', new_string: 'all: evil' }
  expect((await fixture.call('Edit', edit, { subject })).text).toContain(
    "given for 'note.txt', which now leads to 'Makefile'",
  )
  const below = { file_path: 'new/folder/a.txt', content: 'x' }
  expect(await fixture.call('Write', below, { subject: inFolder })).toMatchObject({ success: false, code: 'denied' })
  expect(readFileSync(join(fixture.workspace, 'Makefile'), 'utf8')).toBe('all:\n')
  expect(readdirSync(join(fixture.workspace, 'd'))).toEqual(['a.txt'])
  expect(await fixture.call('Write', wanted, { subject: 'Makefile' })).toMatchObject({
    success: true,
    files: ['Makefile'],
  })
})

test('TO62 a permission subject is the path that would be written, or the call is refused', () => {
  using fixture = createRaceFixture()
  symlinkSync('d', join(fixture.workspace, 'alias'))
  const write = fixture.toolbox.tools.find(({ name }) => name === 'Write')
  const subjectOf = (file_path: string) => write?.subject?.({ file_path, content: '' } as never)
  const same = [
    'nope/../.env',
    'nope/x/../../.env',
    './nope/.././.env',
    'd/../nope/../.env',
    `${fixture.workspace}/n/../.env`,
  ]
  for (const path of same) expect.soft(subjectOf(path), path).toBe('.env')
  expect(subjectOf('nope/../alias/b.txt')).toBe('d/b.txt')
  expect(subjectOf('nope/more/../b.txt')).toBe('nope/b.txt')
  for (const path of ['nope/../../x', '../x', '/etc/passwd', 'd/a.txt/x', 'd/a.txt/../../.env', 'a\0b', '~/x']) {
    expect.soft(() => subjectOf(path), path).toThrow(expect.objectContaining({ code: 'denied' }))
  }
})

test('TO44 a folder swapped for a link while it is searched leads no search out', { timeout: 60_000 }, async () => {
  using fixture = createRaceFixture()
  const without = createTools({ workspace: fixture.workspace, ripgrep: false })
  using _swapper = startSwapping(fixture.workspace, fixture.outside)
  const found = new Set<string>()
  const grep = { pattern: '.', output_mode: 'content' }
  for (let until = performance.now() + 4000; performance.now() < until; ) {
    for (const path of ['.', 'd']) {
      found.add((await callTool(without, 'Grep', { ...grep, path })).text)
      found.add((await fixture.call('Grep', { ...grep, path })).text)
    }
  }
  expect([...found].filter((text) => text.includes(SECRET))).toEqual([])
  expect([...found].some((text) => text.includes('harmless'))).toBe(true)
})

test('TO45 a file that also has a name outside is replaced, never written through', async () => {
  const { outside, answer } = await runHardLinkAttempt()
  expect(outside).toBe('the-secret-beside-the-workspace')
  expect(answer).toContain('1 more name')
})
