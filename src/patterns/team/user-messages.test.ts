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

const lines: TeamReplies = { a: ['A'], b: ['B'], c: ['C'] }
const say = (text: string): SteerAction => ({ do: 'say', text })

describe('the message of the user is handed over like any other', () => {
  const fromUser = (rule: object) => ({
    ...{ ...trio, handoffs: [{ from_agent: 'user', to_agent: 'b', priority: 2, ...rule }] },
  })

  test('TM27 the first handoff is told and explained, with what its router said beside the point', async () => {
    const router = () =>
      ({
        verdicts: [
          { condition: 1, holds: true },
          { condition: 7, holds: true },
        ],
      }) as never
    const scene = await runTeam(fromUser({ condition: 'it is urgent' }), { ...lines, router })
    expect(scene.route).toEqual(['b'])
    expect(handoffsFrom(scene.events)[0]).toMatchObject({
      ...{ round: 0, from: 'user', to: 'b', by: 'model', explanation: { rules: [{ holds: true }] } },
      problems: [expect.stringMatching(/^router: it judged what it was not asked/)],
    })
    expect(handoffSummary(scene)).toEqual(['user → b model', 'b → null after_work'])
  })

  test('TM27 a rule from the user that needs approval waits for a person', async () => {
    const asked = await runTeam(fromUser({ approve: true }), lines)
    expect(asked.result.gates[0]?.detail).toMatchObject({ kind: 'approve', from: 'user', to: 'b' })
    expect(asked.route).toEqual([])
    expect((await answerQuestion(asked, 'no')).route).toEqual(['a'])
    const other = await answerQuestion(await runTeam(fromUser({ approve: true }), lines), 'c')
    expect([other.route, handoffSummary(other)[0]]).toEqual([['c'], 'user → c person'])
  })

  test('TM27 previous_agent with nobody before is reported, and the next rule has its turn', async () => {
    const handoffs = [
      { from_agent: 'user', to_agent: 'previous_agent', priority: 5 },
      { from_agent: 'user', to_agent: 'b' },
    ]
    const scene = await runTeam({ ...trio, handoffs }, lines)
    expect(scene.route).toEqual(['b'])
    expect(handoffsFrom(scene.events)[0]?.problems).toEqual([
      'rule 1 hands to previous_agent, and nobody spoke before user',
    ])
  })
})

describe('whatever the user says is heard', () => {
  const urgent = [
    { from_agent: 'user', to_agent: 'c', condition: 'round > 0' },
    { from_agent: 'a', to_agent: 'b' },
  ]

  test('TM29 words to a team at work join conversation and history, and leave the turn where it is', async () => {
    const scene = await runSteeredTeam({ ...trio, handoffs: urgent }, lines, ['a', say('ONE'), say('TWO')])
    expect(scene.route).toEqual(['a', 'b'])
    expect(historyRows(scene).slice(1)).toEqual([
      ...[
        ['a', 'A', 'b'],
        ['user', 'ONE', null],
        ['user', 'TWO', null],
        ['b', 'B', null],
      ],
    ])
  })

  test('TM29 what is said while the last one works is routed like an answer, all of it', async () => {
    const scene = await runSteeredTeam({ ...trio, handoffs: urgent }, lines, ['b', say('ONE'), say('TWO')])
    expect(scene.route).toEqual(['a', 'b', 'c'])
    expect(historyRows(scene).slice(2)).toEqual([
      ...[
        ['b', 'B', null],
        ['user', 'ONE', 'c'],
        ['user', 'TWO', 'c'],
        ['c', 'C', null],
      ],
    ])
    const [request] = requestsFrom(scene, 'c')
    expect(request && conversationFrom(request).slice(-2)).toMatchObject([{ text: 'ONE' }, { text: 'TWO' }])
    expect(await scene.troupe.replay(scene.result.run_id)).toMatchObject({ same: true })
  })

  test('TM29 what is said before the team asks is the answer, and nobody is asked', async () => {
    const team = { ...trio, after_work_behavior: 'return_to_user', handoffs: urgent }
    const scene = await runSteeredTeam(team, lines, ['b', say('ONE'), say('TWO')])
    expect([scene.route, scene.result.gates.length]).toEqual([['a', 'b', 'c'], 1])
    const words = handoffsFrom(scene.events).map(({ from, to }) => `${from} → ${to}`)
    expect(words).toEqual(['user → a', 'a → b', 'b → user', 'user → c', 'c → user'])
  })
})

describe('people and circles', () => {
  test('TM19 a person who is one of two keeps the team from going in circles', async () => {
    const team = {
      ...{ name: 'Talk', agents: [{ name: 'w' }, { name: 'chief', kind: 'human' }] },
      handoffs: [
        { from_agent: 'w', to_agent: 'chief' },
        { from_agent: 'chief', to_agent: 'w' },
        { from_agent: 'w', to_agent: 'user', condition: 'round > 20', priority: 2 },
      ],
    }
    let scene = await runTeam(team, { w: (n) => `w${n}` })
    for (let n = 1; n <= 8; n++) {
      expect(scene.result.gates[0]?.detail).toMatchObject({ kind: 'person' })
      scene = await answerQuestion(scene, `again ${n}`)
    }
    expect(scene.route).toHaveLength(18)
  })

  test('TM19 what the user says to a team at work begins the counts again', async () => {
    const circle = {
      ...{ ...trio, agents: [{ name: 'a' }, { name: 'b', outputs: { done: 'boolean' } }] },
      handoffs: [
        { from_agent: 'a', to_agent: 'b' },
        { from_agent: 'b', to_agent: 'a' },
        { from_agent: 'b', to_agent: 'user', condition: 'done', priority: 2 },
      ],
    }
    const busy: TeamReplies = { a: (n) => `a${n}`, b: (n) => `b${n}` }
    const alone = await runTeam(circle, busy)
    const talked = await runSteeredTeam(circle, busy, ['b', say('be quick')])
    expect([alone.route.length, talked.route.length]).toEqual([7, 9])
  })
})
