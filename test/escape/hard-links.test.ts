import { linkSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { evaluatePolicies } from '../../src/judgement/permission/permission-policy.ts'
import { createHardLinkCheck } from '../../src/tools/files/hard-links.ts'
import { countEachTest } from '../support/attempt-count.ts'
import type { ToolWorkspace } from './tool-workspace.ts'
import { createToolWorkspace } from './tool-workspace.ts'

beforeEach(countEachTest('files'))

/* A file that permission rules hide has another name in the workspace (hard link), which no rule mentions. */

const SECRET = 'KEY=linked-secret'

function createLinkFixture(): ToolWorkspace {
  const fixture = createToolWorkspace({ sandbox: 'none' })
  fixture.writeFile('.env', SECRET)
  fixture.writeFile('deep/secrets/key.pem', SECRET)
  fixture.writeFile('shared.txt', 'harmless')
  linkSync(join(fixture.workspace, '.env'), join(fixture.workspace, 'notes.txt'))
  linkSync(join(fixture.workspace, 'deep/secrets/key.pem'), join(fixture.workspace, 'deep/readme.md'))
  linkSync(join(fixture.workspace, 'shared.txt'), join(fixture.workspace, 'copy.txt'))
  return fixture
}

/** What the rules add to a call of a tool. */
function hiddenFiles(tool: string, rules: { deny?: string[]; ask?: string[] }) {
  const { decision, excludedGlobs } = evaluatePolicies([rules], { tool, subject: 'notes.txt', acts: false })
  expect(decision, 'the control: the path alone is allowed').toBe('allow')
  return excludedGlobs ? { excluded_globs: excludedGlobs } : {}
}

test.each([
  ['notes.txt', 'Read(.env)'],
  ['notes.txt', 'Read(**/.env*)'],
  ['deep/readme.md', 'Read(deep/secrets/**)'],
  ['deep/readme.md', 'Read(*.pem)'],
])('PM51 Read refuses %s, a hard link of a file that %s denies', async (file_path, rule) => {
  using fixture = createLinkFixture()
  const denied = await fixture.call('Read', { file_path }, hiddenFiles('Read', { deny: [rule] }))
  expect(denied.code).toBe('denied')
  expect(denied.text).toMatch(/is a hard link to '(\.env|deep\/secrets\/key\.pem)'/)
  expect(denied.text).not.toContain('linked-secret')
  const control = await fixture.call('Read', { file_path })
  expect(control.text, 'the control: without the rule it is read').toContain('linked-secret')
  const harmless = await fixture.call('Read', { file_path: 'copy.txt' }, hiddenFiles('Read', { deny: [rule] }))
  expect(harmless.text, 'another hard link can be read').toContain('harmless')
})

test('PM51 Grep leaves out hard links of hidden files', async () => {
  using fixture = createLinkFixture()
  const input = { pattern: 'KEY|harmless', output_mode: 'content' }
  const denied = await fixture.call('Grep', input, hiddenFiles('Grep', { deny: ['Read(.env)', 'Read(*.pem)'] }))
  expect(denied.text).not.toContain('linked-secret')
  expect(denied.text).toContain('copy.txt:1:harmless')
  expect(denied.text).toContain('files that permission rules deny are omitted')
  const control = await fixture.call('Grep', input)
  expect(control.text).toContain('notes.txt:1:KEY=linked-secret')
})

test.each([
  ['Edit', { file_path: 'notes.txt', old_string: 'KEY', new_string: 'X' }],
  ['Write', { file_path: 'notes.txt', content: 'X' }],
])('PM51 %s refuses a hard link of a hidden file, also after it was read', async (tool, input) => {
  using fixture = createLinkFixture()
  await fixture.call('Read', { file_path: 'notes.txt' })
  const denied = await fixture.call(tool, input, hiddenFiles(tool, { deny: ['Read(.env)'] }))
  expect(denied.code).toBe('denied')
  expect(readFileSync(join(fixture.workspace, 'notes.txt'), 'utf8')).toBe(SECRET)
  expect((await fixture.call(tool, input)).success, 'the control').toBe(true)
})

test('PM51 files that a command links are no artifacts when the linked file is hidden', async () => {
  using fixture = createLinkFixture()
  const ask = { file_artifacts: true as const, ...hiddenFiles('Bash', { ask: ['Read(.env)'] }) }
  const linked = await fixture.call('Bash', { command: 'ln .env linked.md; echo x > new.md' }, ask)
  expect(linked.files).toEqual(['new.md'])
  expect(JSON.stringify(linked)).not.toContain('linked-secret')
  const control = await fixture.call('Bash', { command: 'ln .env other.md' }, { file_artifacts: true })
  expect(control.files).toContain('other.md')
})

test('PM51 a path that an ask rule matches itself is read after approval, whatever its other names', async () => {
  using fixture = createLinkFixture()
  const read = await fixture.call('Read', { file_path: '.env' }, { excluded_globs: ['.env'] })
  expect(read.text).toContain('linked-secret')
  const stricter = await fixture.call('Read', { file_path: '.env' }, { excluded_globs: ['.env', 'notes.txt'] })
  expect(stricter.code).toBe('denied')
})

test('PM51 when the workspace is too large to be searched, every file with several hard links is refused', async () => {
  using fixture = createLinkFixture()
  const workspace = { realPath: fixture.workspace, knownPaths: [fixture.workspace] }
  const check = createHardLinkCheck(workspace, { excluded_globs: ['.env'] }, 2)
  expect(await check('copy.txt', { dev: 1, ino: 1, nlink: 2 })).toContain('the workspace has more than 2 files')
  expect(await check('single.txt', { dev: 1, ino: 1, nlink: 1 })).toBeUndefined()
  const large = createHardLinkCheck(workspace, { excluded_globs: ['.env'] })
  expect(await large('copy.txt', { dev: 1, ino: 1, nlink: 2 })).toBeUndefined()
})
