import { beforeAll, describe, expect, test } from 'vitest'
import { isEvent } from '../../src/kernel/event.ts'
import { runChaos } from './chaos-run.ts'
import { randomPlan } from './random-plan.ts'
import { conversationScenario } from './team-conversation-scenario.ts'
import type { ExpectedTeamRun } from './team-oracle.ts'
import { busyPlan, calmPlan, expectedTeamRun, problemsAtEveryBoundary, teamProblems } from './team-oracle.ts'

const LONG = 3_600_000
const SEEDS = Number(process.env.CHAOS_TEAM_SEEDS ?? 40)

const calm = calmPlan(conversationScenario)
const busy = busyPlan(conversationScenario)
let course: ExpectedTeamRun

beforeAll(async () => {
  course = await expectedTeamRun(calm)
})

describe('a team that breaks off while people talk with it', () => {
  test('TM23 the undisturbed run takes every way there is', () => {
    const { journal, expected } = course
    const route = journal.flatMap((event) => (isEvent(event, 'team:turn') ? event.data.agent : []))
    expect(route.join(' ')).toBe('w v w v w v w panel chief guide asker asker closer')
    const count = (type: string) => journal.filter((event) => event.type === type).length
    expect([count('team:loop'), count('gate:open')]).toEqual([1, 3])
    expect(count('team:compress')).toBeGreaterThan(0)
    expect(journal.find((event) => isEvent(event, 'team:start'))?.data).toMatchObject({ formed: [{ uses: 'alpha' }] })
    expect(expected.response).toMatch(
      /^\[closer: user begin \| .*the sum of \d+, \d+ decisions.* \| user yes \| asker asked 1\]$/,
    )
  })

  test(
    'TM23 killed at any boundary, it goes on to the same handoffs, questions and summaries',
    async () => {
      expect(await problemsAtEveryBoundary(calm, course, (at) => ({ kind: 'kill', at }))).toEqual([])
    },
    LONG,
  )

  test(
    'TM23 a power failure or another process that took over changes nothing of it',
    async () => {
      expect(await problemsAtEveryBoundary(busy, course, (at) => ({ kind: 'power', at }))).toEqual([])
      expect(await problemsAtEveryBoundary(calm, course, (at) => ({ kind: 'suspend', at, steps: LONG }))).toEqual([])
    },
    LONG,
  )

  test(
    'TM23 random faults, latencies and answers to every question: every seed ends well',
    async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const played = await runChaos({ ...randomPlan(seed), scenario: conversationScenario })
        const wrong = teamProblems(played, course)
        if (wrong.length > 0) throw new Error(`seed ${seed} ${JSON.stringify(played.plan.faults)}\n${wrong.join('\n')}`)
      }
    },
    LONG,
  )
})
