import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'

test('ST81 a backup during a run has what was committed, and the run can be resumed from it', async () => {
  const fixture = await createCliFixture()
  const write = { name: 'Write', input: { file_path: 'note.txt', content: 'x' } }
  const rules = (delayMs: number) => [
    { when: { turn: 1 }, reply: { toolCalls: [write] } },
    { reply: { text: 'all done', delayMs } },
  ]
  await fixture.write('work/.keep', '')
  const model = await fixture.script('script.json', rules(60_000))
  const options = ['--workspace', 'work', '--allow', 'Write(*)']
  const run = fixture.start('run', 'task', 'go', '--model', model, ...options)
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  await expect.poll(() => fixture.read('work/note.txt').catch(() => '')).toBe('x')
  await run.waitFor(/Write/)
  const copied = await fixture.troupe('backup', 'copy.db')
  expect([copied.code, copied.err.replace(/\s+/g, ' ')]).toEqual([0, expect.stringContaining('copied to copy.db')])
  expect(statSync(join(fixture.folder, 'copy.db')).mode & 0o777).toBe(0o600)
  run.kill('SIGKILL')
  await run.done
  await fixture.script('script.json', rules(0))
  const again = await fixture.troupe('backup', 'copy.db')
  expect([again.code, again.err.replace(/\s+/g, ' ')]).toEqual([2, expect.stringContaining('it exists already')])
  expect(await fixture.troupe('verify', run_id, '--store', 'copy.db')).toMatchObject({ code: 0 })
  const resumed = await fixture.troupe('resume', run_id, '--store', 'copy.db', '--model', model, ...options)
  expect(resumed).toEqual({ code: 0, signal: null, err: expect.any(String), out: expect.stringContaining('all done') })
})
