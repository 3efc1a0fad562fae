import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'

test('ST83 L97 a run whose last events were in a lost log is not resumed: its action is not repeated', async () => {
  const fixture = await createCliFixture()
  const quick = await fixture.script('quick.json', [{ reply: { text: 'done' } }])
  await fixture.troupe('run', 'task', 'first', '--model', quick)
  const write = { name: 'Write', input: { file_path: 'note.txt', content: 'x' } }
  const model = await fixture.script('script.json', [
    { when: { turn: 1 }, reply: { toolCalls: [write] } },
    { reply: { text: 'done', delayMs: 60_000 } },
  ])
  const options = ['--workspace', '.', '--allow', 'Write(*)']
  const run = fixture.start('run', 'task', 'go', '--model', model, ...options)
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  await expect.poll(() => fixture.read('note.txt').catch(() => '')).toBe('x')
  run.kill('SIGKILL')
  await run.done
  for (const file of ['troupe.db-wal', 'troupe.db-shm']) rmSync(join(fixture.folder, '.troupe', file))
  const words = ({ out, err }: { out: string; err: string }) => `${out}${err}`.replace(/\s+/g, ' ')
  const [listed, doctor, verify, again, resumed] = await Promise.all([
    fixture.troupe('runs'),
    fixture.troupe('doctor'),
    fixture.troupe('verify'),
    fixture.troupe('run', 'task', 'again', '--model', quick),
    fixture.troupe('resume', run_id, ...options),
  ])
  expect([listed.code, listed.out]).toEqual([0, expect.stringContaining('first')])
  const loss = /lacks its newest commits.*-wal was removed.*troupe verify --accept-loss/
  const reads = [['show', run_id], ['cost'], ['inbox'], ['sessions', '--json']].map((argv) => fixture.troupe(...argv))
  for (const read of [listed, ...(await Promise.all(reads))]) expect(words({ ...read, out: '' })).toMatch(loss)
  expect(words(verify).match(/lacks its newest commits/g)).toHaveLength(1)
  for (const refused of [doctor, verify, again])
    expect([refused.code, words(refused)]).toEqual([
      1,
      expect.stringMatching(/lacks its newest commits.*-wal was removed/),
    ])
  expect([resumed.code, words(resumed)]).toEqual([2, expect.stringContaining(run_id)])
  const accepted = await fixture.troupe('verify', '--accept-loss')
  expect([accepted.code, words(accepted)]).toEqual([0, expect.stringContaining('1 run with')])
  expect(await fixture.troupe('run', 'task', 'again', '--model', quick)).toMatchObject({ code: 0 })
})
