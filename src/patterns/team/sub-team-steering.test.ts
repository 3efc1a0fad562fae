import { expect, test } from 'vitest'
import { eventData } from '../../../test/support/manual-doubles.ts'
import {
  answerQuestion,
  conversationFrom,
  requestsFrom,
  runSteeredTeam,
  runTeam,
} from '../../../test/support/team-harness.ts'
import type { SteerAction } from '../../index.ts'

const chain = (names: readonly string[], more: object = {}) => ({
  agents: names.map((name) => ({ name })),
  handoffs: names.slice(1).map((to_agent, index) => ({ from_agent: names[index], to_agent })),
  after_work_behavior: 'terminate',
  ...more,
})

const contracts = { name: 'Contracts', ...chain(['drafter', 'checker'], { context_variables: { strict: false } }) }
const legal = { name: 'Legal', agents: [{ name: 'contracts', team: contracts }], after_work_behavior: 'terminate' }
const team = {
  name: 'Top',
  agents: [{ name: 'legal', team: legal }, { name: 'closer' }],
  handoffs: [{ from_agent: 'legal', to_agent: 'closer' }],
  after_work_behavior: 'terminate',
}
const replies = { drafter: ['D'], checker: ['C'], closer: ['E'] }
const path = 'legal/contracts'

const steer = (...actions: SteerAction[]) => runSteeredTeam(team, replies, ['drafter', ...actions])

const speakers = (run: Awaited<ReturnType<typeof steer>>) =>
  run.model.requests.map(({ session }) => session.agent).filter((name) => name in replies)

test('TM55 a message to a sub-team is read by its next member, and by nobody above', async () => {
  const run = await steer({ do: 'say', text: 'Mind the dates.', path })
  const texts = (name: string) =>
    requestsFrom(run, name)
      .flatMap(conversationFrom)
      .map(({ from, text }) => `${from}: ${text}`)
  expect(texts('checker')).toContain('user: Mind the dates.')
  expect(texts('closer')).not.toContain('user: Mind the dates.')
  expect(eventData(run.events, 'team:steered')).toMatchObject([{ action: { do: 'say', path }, accepted: true }])
})

test('TM55 a sub-team is paused, and continued by the same path only', async () => {
  const run = await steer({ do: 'pause', path })
  expect(run.result.gates).toMatchObject([
    { question: expect.stringContaining('Paused before legal/contracts/checker.'), detail: { kind: 'pause', path } },
  ])
  expect(speakers(run)).toEqual(['drafter'])
  await run.troupe.steer(run.result.run_id, { do: 'continue' }, { resume: false })
  expect(await run.troupe.gates({ run_id: run.result.run_id }).all()).toHaveLength(1)
  const { result } = await run.troupe.steer(run.result.run_id, { do: 'continue', path })
  expect((await result).status).toBe('completed')
  expect(speakers(run)).toEqual(['drafter', 'checker', 'closer'])
  const stepped = await answerQuestion(await steer({ do: 'pause', path }), 'drafter')
  expect(speakers(stepped)).toEqual(['drafter', 'drafter', 'checker', 'closer'])
})

test('TM55 override and set are applied in the sub-team', async () => {
  const run = await steer({ do: 'override', agent: 'drafter', path }, { do: 'set', name: 'strict', value: true, path })
  expect(speakers(run)).toEqual(['drafter', 'drafter', 'checker', 'closer'])
  expect(run.output.variables).toEqual({})
})

test('TM55 an action without a path waits for the top team', async () => {
  const run = await steer({ do: 'pause' })
  expect(speakers(run)).toEqual(['drafter', 'checker'])
  expect(run.result.gates[0]?.question).toContain('Paused before closer.')
})

test('TM55 an action for a sub-team that has no turn any more is rejected at the end', async () => {
  const run = await runSteeredTeam(team, replies, ['closer', { do: 'say', text: 'Late.', path }])
  expect(run.result.status).toBe('completed')
  expect(eventData(run.events, 'team:steered')).toMatchObject([
    { accepted: false, reason: 'legal/contracts has no turn any more' },
  ])
})

test('TM55 an unknown path, agent or variable is refused with the known ones', async () => {
  const { troupe, result } = await steer({ do: 'pause' })
  const refused = (action: SteerAction) => expect(troupe.steer(result.run_id, action)).rejects
  await refused({ do: 'pause', path: 'legl' }).toThrow("no sub-team 'legl'; known: legal, legal/contracts")
  await refused({ do: 'override', agent: 'closer', path }).toThrow(/no agent or group 'closer'; known: .*checker/)
  await refused({ do: 'set', name: 'strikt', value: true, path }).toThrow(
    "no variable 'strikt' in the team; known: strict",
  )
  const plain = await runTeam({ name: 'P', agents: [{ name: 'a' }] }, { a: ['A'] })
  await expect(plain.troupe.steer(plain.result.run_id, { do: 'pause', path: 'x' })).rejects.toThrow(/has no sub-teams/)
})
