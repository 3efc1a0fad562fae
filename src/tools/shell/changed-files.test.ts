import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import type { ToolCall } from '../../kernel/tool.ts'

let fixture: ToolWorkspace
beforeEach(() => {
  fixture = createToolWorkspace()
})
afterEach(() => fixture?.[Symbol.dispose]())

const bash = (command: string, more: Partial<ToolCall> = {}) =>
  fixture.call('Bash', { command }, { file_artifacts: true, ...more })

test('TO82 Bash reports the text files that a command has written, with their content', async () => {
  fixture.writeFile('old.md', 'old\n')
  fixture.writeFile('same.md', 'same\n')
  const result = await bash('mkdir -p docs && echo new > docs/new.md && echo more >> old.md && cat same.md')
  expect(result.files).toEqual(['docs/new.md', 'old.md'])
  expect(result.contents).toEqual({ 'docs/new.md': 'new\n', 'old.md': 'old\nmore\n' })
  expect(result.output).toBe('same\n')
  expect(result.created).toEqual(['docs/new.md'])
  expect(await bash('mv old.md moved.md; rm docs/new.md')).toMatchObject({
    files: ['moved.md'],
    created: ['moved.md'],
    deleted: ['docs/new.md', 'old.md'],
  })
  expect((await bash('chmod +x moved.md; cat moved.md')).files).toBeUndefined()
})

test('TO82 a file counts even if the command has failed', async () => {
  const failed = await bash('echo half > half.md; exit 3')
  expect(failed).toMatchObject({ success: false, contents: { 'half.md': 'half\n' } })
})

test('TO82 without artifacts in the session, and in read-only calls, nothing is compared', async () => {
  expect((await bash('echo x > a.md', { file_artifacts: undefined } as never)).files).toBeUndefined()
  expect((await bash('cat a.md', { read_only: true })).files).toBeUndefined()
})

test('TO82 ignored files, links, and files that a rule for Read denies are not reported', async () => {
  fixture.writeFile('.gitignore', 'build/\n*.log\n')
  const command =
    'mkdir build && echo x > build/a && echo x > b.log && echo x > .env && ln -s /etc/hostname link && echo x > c.md'
  expect((await bash(command, { excluded_globs: ['.env*'] })).files).toEqual(['c.md'])
})

test('TO82 beyond a bound no file is kept, and the result says so', async () => {
  const many = await bash('for i in $(seq 21); do echo $i > f$i; done')
  expect(many.contents).toBeUndefined()
  expect(many.text).toContain('21 files changed: not kept as artifacts; keep what matters with ArtifactWrite')
  const binary = await bash("printf 'a\\0b' > binary; head -c 1000001 /dev/zero | tr '\\0' x > large; echo x > text")
  expect(Object.keys(binary.contents ?? {})).toEqual(['text'])
  expect(binary.text).toContain('binary, large: no text, or too large')
})

test('TO82 in a workspace of more than 5,000 files nothing is compared, which is said once', async () => {
  mkdirSync(join(fixture.workspace, 'data'))
  for (let index = 0; index <= 5_000; index += 1) writeFileSync(join(fixture.workspace, 'data', `${index}`), '')
  const first = await bash('echo x > a.md')
  expect(first.files).toBeUndefined()
  expect(first.text).toContain('the workspace has more than 5000 files')
  expect((await bash('echo y > a.md')).text).toBe('[no output]')
})

test('TO82 of two commands at the same time, one reports a change', async () => {
  const wait = (file: string) => `until [ -e ${file} ]; do sleep 0.01; done`
  const results = await Promise.all([
    bash(`echo one > one.md; touch .a; ${wait('.b')}`),
    bash(`${wait('.a')}; echo two > two.md; touch .b; ${wait('.c')}`),
    bash(`${wait('.b')}; touch .c`),
  ])
  const reported = results.flatMap(({ files = [] }) => files.filter((file) => file.endsWith('.md')))
  expect(reported.sort()).toEqual(['one.md', 'two.md'])
})

test('TO82 a file that Write changes while a command runs is not reported by the command', async () => {
  const running = bash('touch .begun; until [ -e .go ]; do sleep 0.01; done; echo own > own.md')
  while (!existsSync(join(fixture.workspace, '.begun'))) await new Promise((resolve) => setImmediate(resolve))
  const written = await fixture.call('Write', { file_path: 'other.md', content: 'other' })
  fixture.writeFile('.go', '')
  expect(written.files).toEqual(['other.md'])
  expect((await running).files).toEqual(['.begun', '.go', 'own.md'])
})
