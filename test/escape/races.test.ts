import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { countEachTest } from '../support/attempt-count.ts'
import { runHardLinkAttempt } from './file-tools.attempts.ts'
import { createToolWorkspace } from './tool-workspace.ts'

beforeEach(countEachTest('files'))

const SECRET = 'raced-secret'

/** Starts a process that replaces a folder by a symlink to the outside and back in a loop (symlink race). */
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

/** The vulnerable way (TOCTOU): check the path, then use it again. */
function readWithCheckThenUse(workspace: string): string {
  const path = join(workspace, 'd', 'a.txt')
  try {
    return realpathSync(path).startsWith(`${workspace}/`) ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
}

test('TO43 a folder replaced by a symlink between check and use does not lead a file tool outside', async () => {
  using fixture = createRaceFixture()
  using _swapper = startSwapping(fixture.workspace, fixture.outside)
  let escaped = false
  for (let end = performance.now() + 15_000; !escaped && performance.now() < end; ) {
    escaped = readWithCheckThenUse(fixture.workspace) === SECRET
  }
  expect(escaped, 'the control: check-then-use is vulnerable').toBe(true)

  const results = new Set<string>()
  for (let end = performance.now() + 3000; performance.now() < end; ) {
    results.add((await fixture.call('Read', { file_path: 'd/a.txt' })).text)
  }
  expect([...results].filter((text) => text.includes(SECRET))).toEqual([])
  expect([...results].some((text) => text.includes('harmless'))).toBe(true)
  for (let end = performance.now() + 2000; performance.now() < end; ) {
    await fixture.call('Write', { file_path: 'd/marker', content: 'x' })
  }
  expect(readdirSync(fixture.outside)).toEqual(['a.txt'])
})

test('TO61 Write and Edit fail when the path no longer resolves to the permitted file', async () => {
  using fixture = createRaceFixture()
  fixture.writeFile('Makefile', 'all:\n')
  await fixture.call('Read', { file_path: 'Makefile' })
  const write = fixture.toolbox.tools.find(({ name }) => name === 'Write')
  const permissionSubject = (file_path: string) => write?.subject?.({ file_path, content: '' } as never)
  const subject = permissionSubject('note.txt') ?? ''
  const inFolder = permissionSubject('new/folder/a.txt') ?? ''
  expect([subject, inFolder]).toEqual(['note.txt', 'new/folder/a.txt'])
  // While a person is asked for permission, the path becomes a symlink.
  symlinkSync('Makefile', join(fixture.workspace, 'note.txt'))
  symlinkSync('d', join(fixture.workspace, 'new'))
  const change = { file_path: 'note.txt', content: 'all: evil\n' }
  expect(await fixture.call('Write', change, { subject })).toMatchObject({ success: false, code: 'denied' })
  const edit = { file_path: 'note.txt', old_string: 'all:', new_string: 'all: evil' }
  expect((await fixture.call('Edit', edit, { subject })).text).toContain(
    "granted for 'note.txt', but that path now resolves to 'Makefile'",
  )
  const below = { file_path: 'new/folder/a.txt', content: 'x' }
  expect(await fixture.call('Write', below, { subject: inFolder })).toMatchObject({ success: false, code: 'denied' })
  expect(readFileSync(join(fixture.workspace, 'Makefile'), 'utf8')).toBe('all:\n')
  expect(readdirSync(join(fixture.workspace, 'd'))).toEqual(['a.txt'])
  expect(await fixture.call('Write', change, { subject: 'Makefile' })).toMatchObject({
    success: true,
    files: ['Makefile'],
  })
})

test('TO15 the permission subject is the resolved path; a path that cannot be resolved is denied', () => {
  using fixture = createRaceFixture()
  symlinkSync('d', join(fixture.workspace, 'alias'))
  const write = fixture.toolbox.tools.find(({ name }) => name === 'Write')
  const permissionSubject = (file_path: string) => write?.subject?.({ file_path, content: '' } as never)
  const spellings = [
    'nope/../.env',
    'nope/x/../../.env',
    './nope/.././.env',
    'd/../nope/../.env',
    `${fixture.workspace}/n/../.env`,
  ]
  for (const path of spellings) expect.soft(permissionSubject(path), path).toBe('.env')
  expect(permissionSubject('nope/../alias/b.txt')).toBe('d/b.txt')
  expect(permissionSubject('nope/more/../b.txt')).toBe('nope/b.txt')
  for (const path of ['nope/../../x', '../x', '/etc/passwd', 'd/a.txt/x', 'd/a.txt/../../.env', 'a\0b', '~/x']) {
    expect.soft(() => permissionSubject(path), path).toThrow(expect.objectContaining({ code: 'denied' }))
  }
})

test('TO43 a folder replaced by a symlink during a search does not lead the search outside', async () => {
  using fixture = createRaceFixture()
  using _swapper = startSwapping(fixture.workspace, fixture.outside)
  const found = new Set<string>()
  const grep = { pattern: '.', output_mode: 'content' }
  for (let end = performance.now() + 4000; performance.now() < end; ) {
    for (const path of ['.', 'd']) {
      found.add((await fixture.call('Grep', { ...grep, path })).text)
    }
  }
  expect([...found].filter((text) => text.includes(SECRET))).toEqual([])
  expect([...found].some((text) => text.includes('harmless'))).toBe(true)
})

test('TO14 writing to a file with a hard link outside does not change the outside content', async () => {
  const { outside, result } = await runHardLinkAttempt()
  expect(outside).toBe('the-secret-beside-the-workspace')
  expect(result).toContain('1 more hard link')
})
