import { describe, expect, test } from 'vitest'
import type { TeamReplies } from '../../../test/support/team-harness.ts'
import {
  answerQuestion,
  handoffSummary,
  handoffsFrom,
  historyRows,
  requestsFrom,
  routedConversation,
  routerVerdicts,
  runSteeredTeam,
  runTeam,
  trio,
} from '../../../test/support/team-harness.ts'

const broken = () => Object.assign(new Error('broke'), { status: 404 })

const replies: TeamReplies = { a: ['A'], b: ['B'], c: ['C'] }

describe('history and handoffs', () => {
  test('TM25 an override is recorded as a handoff by a person with its target', async () => {
    const run = await runSteeredTeam(trio, replies, ['a', { do: 'override', agent: 'c' }])
    expect(run.route).toEqual(['a', 'c'])
    expect(handoffSummary(run)).toEqual(['a → b exact', 'a → c person', 'c → null after_work'])
    expect(historyRows(run)).toEqual([
      ['user', 'Go.', 'a'],
      ['a', 'A', 'c'],
      ['c', 'C', null],
    ])
    expect(run.output.history[1]?.handoff_reason).toBe('a person chose c over b')
    const late = await runSteeredTeam(trio, replies, ['b', { do: 'override', agent: 'c' }])
    expect(handoffSummary(late).slice(1)).toEqual(['b → null after_work', 'b → c person', 'c → null after_work'])
  })

  test('TM25 an override of the reply’s target is recorded', async () => {
    const team = { ...trio, after_work_behavior: 'return_to_user', handoffs: [] }
    const waiting = await runTeam(team, replies)
    await waiting.troupe.steer(waiting.result.run_id, { do: 'override', agent: 'c' })
    const run = await answerQuestion(waiting, 'continue please')
    expect(run.route).toEqual(['a', 'c'])
    const handoffs = handoffsFrom(run.events).map(({ from, to, by }) => `${from} → ${to} ${by}`)
    expect(handoffs.slice(1)).toEqual(['user → a after_work', 'user → c person', 'c → user after_work'])
  })

  test('TM31 the answer of a failed round is in the output, and the error names the router', async () => {
    const team = { ...trio, handoffs: [{ from_agent: 'a', to_agent: 'b', condition: 'it is done' }] }
    const failed = await runTeam(team, { a: ['words'], router: [broken()] })
    expect(failed.result.error?.message).toMatch(/^after a, round 1: the router failed: .*broke/)
    expect(historyRows(failed)).toEqual([
      ['user', 'Please do it.', 'a'],
      ['a', 'words', null],
    ])
    expect(failed.output.response).toBe('words')
  })

  test('TM31 answers of group members before a limit was reached are in the output', async () => {
    const groups = [{ name: 'g', kind: 'parallel', members: ['a', 'b', 'c'] }]
    const team = { ...trio, entry: 'g', handoffs: [], groups, limits: { max_parallel: 1 } }
    const stopped = await runTeam(team, replies, { limits: { calls: 2 } })
    expect(stopped.result.error?.code).toBe('limit_reached')
    expect(historyRows(stopped).map(([name, text]) => [name, text])).toEqual([
      ...[
        ['user', 'Please do it.'],
        ['a', 'A'],
        ['b', 'B'],
        ['c', ''],
      ],
    ])
  })
})

describe('router request', () => {
  const team = {
    ...trio,
    handoffs: [{ from_agent: 'a', to_agent: 'b', condition: 'all requirements are satisfied' }],
    context_variables: { pages: 3 },
  }

  test('TM37 the router gets the user messages and the variables', async () => {
    const router = routerVerdicts({ 'all requirements are satisfied': true })
    const run = await runTeam(team, { ...replies, router }, { message: 'Three pages.' })
    const [request] = requestsFrom(run, 'router')
    expect(request && routedConversation(request)).toMatchObject({
      asked: ['Three pages.'],
      variables: { pages: 3 },
    })
  })

  test('TM37 a cached verdict is reused only for an identical request', async () => {
    const router = routerVerdicts({ 'all requirements are satisfied': true })
    const first = await runTeam(team, { ...replies, router }, { message: 'Three pages.' })
    const again = (message: string) => first.troupe.run('team' as string, { team, message })
    await again('Three pages.')
    expect(requestsFrom(first, 'router')).toHaveLength(1)
    await again('Four pages.')
    expect(requestsFrom(first, 'router')).toHaveLength(2)
  })
})
