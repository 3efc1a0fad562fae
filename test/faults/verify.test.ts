import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'

test('L91 verify and doctor find an edited event, and say where and what to do', async () => {
  const fixture = await createCliFixture()
  const model = await fixture.script('script.json', [{ reply: { text: 'all done' } }])
  await fixture.troupe('run', 'task', 'go', '--model', model)
  const sound = await fixture.troupe('verify')
  expect([sound.code, sound.out, sound.err.replace(/\s+/g, ' ')]).toEqual([
    0,
    '',
    expect.stringMatching(/1 run with \d+ events checked, no damage/),
  ])
  const db = new DatabaseSync(join(fixture.folder, '.troupe', 'troupe.db'))
  db.exec(`UPDATE events SET data = replace(data, 'all done', 'all lost') WHERE type = 'model:end'`)
  const run_id = String(db.prepare('SELECT run_id FROM runs').get()?.run_id)
  db.close()
  const found = await fixture.troupe('verify', run_id)
  const text = `${found.out}${found.err}`.replace(/\s+/g, ' ')
  expect([found.code, text]).toEqual([1, expect.stringMatching(/✗ chain .*event \d+ \(model:end\).*restore a backup/)])
  const json = await fixture.troupe('verify', '--json')
  const { findings } = JSON.parse(json.out)
  expect([json.code, findings]).toEqual([
    1,
    [expect.objectContaining({ rule: 'chain', run_id, seq: expect.any(Number) })],
  ])
  const doctor = await fixture.troupe('doctor')
  expect([doctor.code, doctor.out.replace(/\s+/g, ' ')]).toEqual([1, expect.stringMatching(/model:end.*troupe verify/)])
  expect(await fixture.troupe('verify', 'r_nobody')).toMatchObject({ code: 2 })
})
