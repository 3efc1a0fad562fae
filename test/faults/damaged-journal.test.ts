import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'

test.each([
  ['lacks an event', (seq: number) => `DELETE FROM events WHERE seq = ${seq}`, /event 8 of 9 is missing/],
  [
    'lacks its last event',
    () => 'DELETE FROM events WHERE seq = 9',
    /event 9 of run r_\w+ is missing, which was committed/,
  ],
  [
    'has an event that is not JSON',
    (seq: number) => `UPDATE events SET data = '{"x' WHERE seq = ${seq}`,
    /event 8 of run r_\w+ is damaged/,
  ],
])('E24 a run is not resumed when its journal %s', async (_damage, statement, problem) => {
  const fixture = await createCliFixture()
  const slow = { reply: { text: 'done', delayMs: 60_000 } }
  const Write = { name: 'Write', input: { file_path: 'note.txt', content: 'written' } }
  const model = await fixture.script('script.json', [{ when: { turn: 1 }, reply: { toolCalls: [Write] } }, slow])
  const run = fixture.start('run', 'task', 'go', '--model', model, '--workspace', '.', '--allow', 'Write(*)')
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  const db = new DatabaseSync(join(fixture.folder, '.troupe', 'troupe.db'))
  const events = () => db.prepare('SELECT seq, type, data FROM events ORDER BY seq').all()
  await expect.poll(() => events().filter(({ type }) => type === 'model:begin').length).toBe(2)
  // The mark beside the store names the last commit a little later.
  await sleep(200)
  run.kill('SIGKILL')
  await run.done
  const act = Number(events().find(({ type }) => type === 'tool:post')?.seq)
  db.exec(statement(act))
  const before = JSON.stringify(events())
  const resumed = await fixture.troupe('resume', run_id, '--workspace', '.', '--allow', 'Write(*)')
  expect(resumed.code).not.toBe(0)
  expect(resumed.err.replace(/\s+/g, ' ')).toMatch(problem)
  expect(resumed.err.replace(/\s+/g, ' ')).toMatch(/restore a backup.*troupe verify/)
  expect(JSON.stringify(events())).toBe(before)
  const doctor = await fixture.troupe('doctor')
  expect([doctor.code, `${doctor.out}${doctor.err}`]).toEqual([1, expect.stringContaining(run_id)])
  db.close()
})
