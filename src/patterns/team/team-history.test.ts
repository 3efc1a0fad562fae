import { describe, expect, test } from 'vitest'
import type { TeamReplies } from '../../../test/support/team-harness.ts'
import {
  answerQuestion,
  handoffSummary,
  handoffsFrom,
  historyRows,
  requestsFrom,
  routerVerdicts,
  runSteeredTeam,
  runTeam,
  trio,
} from '../../../test/support/team-harness.ts'
import { lastMessageText } from '../../../test/support/test-troupe.ts'

const broken = () => Object.assign(new Error('broke'), { status: 404 })

const lines: TeamReplies = { a: ['A'], b: ['B'], c: ['C'] }

describe('the record says what happened', () => {
  test('TM25 an override is a handoff by a person, and the history names who went on', async () => {
    const scene = await runSteeredTeam(trio, lines, ['a', { do: 'override', agent: 'c' }])
    expect(scene.route).toEqual(['a', 'c'])
    expect(handoffSummary(scene)).toEqual(['a → b exact', 'a → c person', 'c → null after_work'])
    expect(historyRows(scene)).toEqual([
      ['user', 'Go.', 'a'],
      ['a', 'A', 'c'],
      ['c', 'C', null],
    ])
    expect(scene.output.history[1]?.handoff_reason).toBe('a person chose c over b')
    const late = await runSteeredTeam(trio, lines, ['b', { do: 'override', agent: 'c' }])
    expect(handoffSummary(late).slice(1)).toEqual(['b → null after_work', 'b → c person', 'c → null after_work'])
  })

  test('TM25 an override of who answers the user is told as well', async () => {
    const team = { ...trio, after_work_behavior: 'return_to_user', handoffs: [] }
    const asked = await runTeam(team, lines)
    await asked.troupe.steer(asked.result.run_id, { do: 'override', agent: 'c' })
    const scene = await answerQuestion(asked, 'go on')
    expect(scene.route).toEqual(['a', 'c'])
    const found = handoffsFrom(scene.events).map(({ from, to, by: who }) => `${from} → ${to} ${who}`)
    expect(found.slice(1)).toEqual(['user → a after_work', 'user → c person', 'c → user after_work'])
  })

  test('TM31 what was said in a round that fails is in the output, and a router that fails is named', async () => {
    const team = { ...trio, handoffs: [{ from_agent: 'a', to_agent: 'b', condition: 'it is done' }] }
    const failed = await runTeam(team, { a: ['words'], router: [broken()] })
    expect(failed.result.error?.message).toMatch(/^after a, round 1: the router: .*broke/)
    expect(historyRows(failed)).toEqual([
      ['user', 'Please do it.', 'a'],
      ['a', 'words', null],
    ])
    expect(failed.output.response).toBe('words')
  })

  test('TM31 members of a group that answered before a limit was reached are heard', async () => {
    const groups = [{ name: 'g', kind: 'parallel', members: ['a', 'b', 'c'] }]
    const team = { ...trio, entry: 'g', handoffs: [], groups, limits: { max_parallel: 1 } }
    const stopped = await runTeam(team, lines, { limits: { calls: 2 } })
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

describe('what a router is asked', () => {
  const team = {
    ...trio,
    handoffs: [{ from_agent: 'a', to_agent: 'b', condition: 'all requirements are satisfied' }],
    context_variables: { pages: 3 },
  }

  test('TM37 it is told what the user asked and what the variables say', async () => {
    const router = routerVerdicts({ 'all requirements are satisfied': true })
    const scene = await runTeam(team, { ...lines, router }, { message: 'Three pages.' })
    const [asked] = requestsFrom(scene, 'router')
    expect(asked && JSON.parse(lastMessageText(asked))).toMatchObject({
      asked: ['Three pages.'],
      variables: { pages: 3 },
    })
  })

  test('TM37 the same words after another request are judged anew', async () => {
    const router = routerVerdicts({ 'all requirements are satisfied': true })
    const first = await runTeam(team, { ...lines, router }, { message: 'Three pages.' })
    const again = (message: string) => first.troupe.run('team', { team, message })
    await again('Three pages.')
    expect(requestsFrom(first, 'router')).toHaveLength(1)
    await again('Four pages.')
    expect(requestsFrom(first, 'router')).toHaveLength(2)
  })
})
