import { expect, test } from 'vitest'
import type { TeamReply } from '../../../test/support/team-harness.ts'
import { requestsFrom, runSteeredTeam, runTeam } from '../../../test/support/team-harness.ts'
import { lastMessageText } from '../../../test/support/test-troupe.ts'

const sets = (response: string, variables: Record<string, unknown>): TeamReply => ({ response, variables })

const handoff = (from_agent: string, to_agent: string, condition: string) => ({ from_agent, to_agent, condition })

/** A team that ends when no rule holds. */
const teamOf = (agents: object[], handoffs: object[], more: object = {}) => ({
  ...{ name: 'T', agents, handoffs, after_work_behavior: 'terminate' },
  ...more,
})

const askedOf = (run: Awaited<ReturnType<typeof runTeam>>, agent: string) =>
  requestsFrom(run, agent).map((request) => /\nVariables: (.*)\.\n/.exec(lastMessageText(request))?.[1])

test('TM44 types come from comparisons with values, with other variables and with system variables', async () => {
  const condition = 'state == "final" and limit == {{ other }} and other > 3 and who == last_agent and ok == true'
  const team = teamOf([{ name: 'a' }, { name: 'b' }], [handoff('a', 'b', `${condition} and a_x == {{ a_b }}`)])
  const answer = { state: 'final', limit: 4, other: 4, who: 'a', ok: true, a_x: 'x', a_b: 'x' }
  const run = await runTeam(team, { a: [sets('A', answer)], b: ['B'] })
  expect(askedOf(run, 'a')).toEqual([
    'state (string), limit (number), other (number), who (string), ok (boolean), a_x (string), a_b (string)',
  ])
  expect(run.route).toEqual(['a', 'b'])
})

test('TM44 a variable in the outputs of another agent is asked only there', async () => {
  const agents = [{ name: 'a', outputs: { score: 'number' } }, { name: 'b' }, { name: 'c' }]
  const team = teamOf(agents, [handoff('a', 'b', 'true'), handoff('b', 'c', 'score > 3')])
  const run = await runTeam(team, { a: [sets('A', { score: 4 })], b: ['B'], c: ['C'] })
  expect(run.route).toEqual(['a', 'b', 'c'])
  expect(askedOf(run, 'b')).toEqual([undefined])
})

test('TM44 rules from any_agent and from a parallel group are asked of everyone they apply to', async () => {
  const agents = ['a', 'b', 'c', 'd'].map((name) => ({ name }))
  const team = teamOf(agents, [handoff('any_agent', 'd', 'alarm == true'), handoff('g', 'c', 'found > 0')], {
    ...{ entry: 'g', groups: [{ name: 'g', kind: 'parallel', members: ['a', 'b'] }] },
  })
  const found = sets('F', { found: 1, alarm: false })
  const run = await runTeam(team, { a: [found], b: [found], c: [sets('C', { alarm: true })], d: ['D'] })
  expect(run.route).toEqual(['g', 'c', 'd'])
  expect(['a', 'b', 'c', 'd'].map((agent) => askedOf(run, agent))).toEqual([
    ['alarm (boolean), found (number)'],
    ['alarm (boolean), found (number)'],
    ['alarm (boolean)'],
    [undefined],
  ])
})

test('TM44 a sub-team returns a variable that a rule after it mentions', async () => {
  const inner = teamOf([{ name: 'x', outputs: { score: 'number' } }], [])
  const team = teamOf([{ name: 'sub', team: inner }, { name: 'b' }], [handoff('sub', 'b', 'score > 3')])
  const run = await runTeam(team, { x: [sets('X', { score: 4 })], b: ['B'] })
  expect(run.route).toContain('b')
})

test('TM44 a value that a person sets is no longer asked for and not replaced', async () => {
  const team = teamOf(
    [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    [handoff('a', 'b', 'score >= {{ least }}'), handoff('b', 'a', 'score >= {{ least }} and round < 3')],
  )
  const replies = { a: [sets('A', { score: 5, least: 1 })], b: [sets('B', { score: 5, least: 1 })], c: ['C'] }
  const run = await runSteeredTeam(team, replies, ['a', { do: 'set', name: 'least', value: 4 }])
  expect(askedOf(run, 'b')).toEqual(['score (number)', 'score (number)'])
  expect(run.output.variables).toEqual({ score: 5, least: 4 })
  expect(run.output.rounds).toBe(4)
})

test('TM45 an agent with a condition of its own, or to which a handoff leads, is not started', async () => {
  const agents = ['a', 'b', 'c'].map((name) => ({ name }))
  const answer = { response: 'A', verdicts: [1, 2].map((condition) => ({ condition, holds: false })) }
  const other = teamOf(agents, [handoff('a', 'c', 'one done and two done'), handoff('b', 'c', 'two done')])
  expect((await runTeam(other, { a: [answer] })).route).toEqual(['a'])
  const both = [handoff('a', 'c', 'one done and two done'), handoff('b', 'c', 'two done and one done')]
  expect((await runTeam(teamOf(agents, both), { a: [answer], b: [answer] })).route).toEqual(['a', 'b'])
  const reached = teamOf(agents, [...both, handoff('c', 'b', 'more')])
  expect((await runTeam(reached, { a: [answer] })).route).toEqual(['a'])
})
