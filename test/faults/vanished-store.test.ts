import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'

test.each([
  ['removed', (folder: string) => rmSync(join(folder, '.troupe'), { recursive: true })],
  [
    'replaced by an empty one',
    (folder: string) => {
      renameSync(join(folder, '.troupe'), join(folder, 'old'))
    },
  ],
  ['left without its write-ahead log', (folder: string) => rmSync(join(folder, '.troupe', 'troupe.db-wal'))],
])('ST80 a run does nothing more when its store is %s', async (how, harm) => {
  const fixture = await createCliFixture()
  const write = (name: string) => ({ name: 'Write', input: { file_path: name, content: 'x' } })
  const model = await fixture.script('script.json', [
    { when: { turn: 1 }, reply: { toolCalls: [write('first.txt')] } },
    { when: { turn: 2 }, reply: { toolCalls: [write('second.txt')], delayMs: 2500 } },
    { reply: { text: 'done' } },
  ])
  const run = fixture.start('run', 'task', 'go', '--model', model, '--workspace', '.', '--allow', 'Write(*)')
  await expect.poll(() => fixture.read('first.txt').catch(() => '')).toBe('x')
  harm(fixture.folder)
  if (how.startsWith('replaced')) await fixture.troupe('runs')
  const { code, err } = await run.done
  expect([code, err.replace(/\s+/g, ' ')]).toEqual([
    expect.not.stringMatching(/^0$/),
    expect.stringContaining('was removed or replaced'),
  ])
  expect(code).not.toBe(0)
  await expect(fixture.read('second.txt')).rejects.toThrow()
})
