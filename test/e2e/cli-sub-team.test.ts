import { expect, test } from 'vitest'
import { createCliFixture } from './cli-fixture.ts'
import { startManualModel } from './manual-model.ts'
import { waitForRunId } from './team-script.ts'

const LONG = 60_000

const TEAM = `name: Top
agents:
  - name: legal
    team:
      name: Legal
      agents: [{ name: drafter }, { name: checker }]
      handoffs: [{ from_agent: drafter, to_agent: checker }]
      after_work_behavior: terminate
  - name: closer
handoffs: [{ from_agent: legal, to_agent: closer }]
after_work_behavior: terminate
`

test('L63 a sub-team is paused, told something and continued from other processes', { timeout: LONG }, async () => {
  const cli = await createCliFixture()
  const model = await startManualModel()
  await cli.write('top.yaml', TEAM)
  const start = ['run', 'team', 'Go.', '--team', 'top.yaml', '--model', model.name, '--no-tools']
  const run = cli.startWith(model, ...start)
  const id = await waitForRunId(run)
  const drafting = await model.nextTurn('drafter')
  expect(await cli.troupe('steer', id, 'say', 'Mind', 'the', 'dates.', '--in', 'legal')).toMatchObject({ code: 0 })
  expect(await cli.troupe('steer', id, 'pause', '--in', 'legal')).toMatchObject({ code: 0 })
  await run.waitFor(/user requests: pause in legal/)
  drafting.answer('A draft.')
  const paused = await run.done
  expect(paused.code).toBe(3)
  expect(paused.err).toMatch(/Paused before legal\/checker/)
  const wrong = await cli.troupe('steer', id, 'next', 'legl/drafter')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toMatch(/no sub-team 'legl'; known: legal/)
  const next = cli.startWith(model, 'steer', id, 'next', 'legal/drafter')
  ;(await model.nextTurn('drafter')).answer('A second draft.')
  ;(await model.nextTurn('checker')).answer('Checked.')
  ;(await model.nextTurn('closer')).answer('Closed.')
  expect(await next.done).toMatchObject({ code: 0, out: 'Closed.\n' })
})
