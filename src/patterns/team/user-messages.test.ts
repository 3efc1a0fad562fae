import { describe, expect, test } from 'vitest'
import type { TeamReplies } from '../../../test/support/team-harness.ts'
import {
  answerQuestion,
  conversationFrom,
  handoffSummary,
  handoffsFrom,
  historyRows,
  requestsFrom,
  runSteeredTeam,
  runTeam,
  trio,
} from '../../../test/support/team-harness.ts'
import type { SteerAction } from '../../index.ts'

const replies: TeamReplies = { a: ['A'], b: ['B'], c: ['C'] }
const say = (text: string): SteerAction => ({ do: 'say', text })

describe('rules from user', () => {
  const fromUser = (rule: object) => ({
    ...{ ...trio, handoffs: [{ from_agent: 'user', to_agent: 'b', priority: 2, ...rule }] },
  })

  test('TM27 the first handoff is recorded and explained, with the problems of the router', async () => {
    const router = () =>
      ({
        verdicts: [
          { condition: 1, holds: true },
          { condition: 7, holds: true },
        ],
      }) as never
    const run = await runTeam(fromUser({ condition: 'it is urgent' }), { ...replies, router })
    expect(run.route).toEqual(['b'])
    expect(handoffsFrom(run.events)[0]).toMatchObject({
      ...{ round: 0, from: 'user', to: 'b', by: 'model', explanation: { rules: [{ holds: true }] } },
      problems: [expect.stringMatching(/^router: `verdicts` has an unknown condition/)],
    })
    expect(handoffSummary(run)).toEqual(['user → b model', 'b → null after_work'])
  })

  test('TM27 a rule from user with approve waits for a person', async () => {
    const waiting = await runTeam(fromUser({ approve: true }), replies)
    expect(waiting.result.gates[0]?.detail).toMatchObject({ kind: 'approve', from: 'user', to: 'b' })
    expect(waiting.route).toEqual([])
    expect((await answerQuestion(waiting, 'no')).route).toEqual(['a'])
    const other = await answerQuestion(await runTeam(fromUser({ approve: true }), replies), 'c')
    expect([other.route, handoffSummary(other)[0]]).toEqual([['c'], 'user → c person'])
  })

  test('TM27 previous_agent without an earlier turn is reported, and the next rule is tried', async () => {
    const handoffs = [
      { from_agent: 'user', to_agent: 'previous_agent', priority: 5 },
      { from_agent: 'user', to_agent: 'b' },
    ]
    const run = await runTeam({ ...trio, handoffs }, replies)
    expect(run.route).toEqual(['b'])
    expect(handoffsFrom(run.events)[0]?.problems).toEqual([
      'rule 1: previous_agent is unknown, no agent had a turn before user',
    ])
  })
})

describe('messages of the user', () => {
  const urgent = [
    { from_agent: 'user', to_agent: 'c', condition: 'round > 0' },
    { from_agent: 'a', to_agent: 'b' },
  ]

  test('TM29 messages during a turn join conversation and history without changing the next member', async () => {
    const run = await runSteeredTeam({ ...trio, handoffs: urgent }, replies, ['a', say('ONE'), say('TWO')])
    expect(run.route).toEqual(['a', 'b'])
    expect(historyRows(run).slice(1)).toEqual([
      ...[
        ['a', 'A', 'b'],
        ['user', 'ONE', null],
        ['user', 'TWO', null],
        ['b', 'B', null],
      ],
    ])
  })

  test('TM29 messages during the last turn are routed by the rules from user', async () => {
    const run = await runSteeredTeam({ ...trio, handoffs: urgent }, replies, ['b', say('ONE'), say('TWO')])
    expect(run.route).toEqual(['a', 'b', 'c'])
    expect(historyRows(run).slice(2)).toEqual([
      ...[
        ['b', 'B', null],
        ['user', 'ONE', 'c'],
        ['user', 'TWO', 'c'],
        ['c', 'C', null],
      ],
    ])
    const [request] = requestsFrom(run, 'c')
    expect(request && conversationFrom(request).slice(-2)).toMatchObject([{ text: 'ONE' }, { text: 'TWO' }])
    expect(await run.troupe.replay(run.result.run_id)).toMatchObject({ same: true })
  })

  test('TM29 a message before the team returns to the user counts as the reply', async () => {
    const team = { ...trio, after_work_behavior: 'return_to_user', handoffs: urgent }
    const run = await runSteeredTeam(team, replies, ['b', say('ONE'), say('TWO')])
    expect([run.route, run.result.gates.length]).toEqual([['a', 'b', 'c'], 1])
    const handoffs = handoffsFrom(run.events).map(({ from, to }) => `${from} → ${to}`)
    expect(handoffs).toEqual(['user → a', 'a → b', 'b → user', 'user → c', 'c → user'])
  })
})

describe('loop detection and people', () => {
  test('TM19 an answer of a human member resets loop detection', async () => {
    const team = {
      ...{ name: 'Talk', agents: [{ name: 'w' }, { name: 'chief', kind: 'human' }] },
      handoffs: [
        { from_agent: 'w', to_agent: 'chief' },
        { from_agent: 'chief', to_agent: 'w' },
        { from_agent: 'w', to_agent: 'user', condition: 'round > 20', priority: 2 },
      ],
    }
    let run = await runTeam(team, { w: (n) => `w${n}` })
    for (let n = 1; n <= 8; n++) {
      expect(run.result.gates[0]?.detail).toMatchObject({ kind: 'person' })
      run = await answerQuestion(run, `again ${n}`)
    }
    expect(run.route).toHaveLength(18)
  })

  test('TM19 a user message during a turn resets loop detection', async () => {
    const loop = {
      ...{ ...trio, agents: [{ name: 'a' }, { name: 'b', outputs: { done: 'boolean' } }] },
      handoffs: [
        { from_agent: 'a', to_agent: 'b' },
        { from_agent: 'b', to_agent: 'a' },
        { from_agent: 'b', to_agent: 'user', condition: 'done', priority: 2 },
      ],
    }
    const busy: TeamReplies = { a: (n) => `a${n}`, b: (n) => `b${n}` }
    const alone = await runTeam(loop, busy)
    const steered = await runSteeredTeam(loop, busy, ['b', say('be quick')])
    expect([alone.route.length, steered.route.length]).toEqual([7, 9])
  })
})
