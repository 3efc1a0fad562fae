import { beforeAll, describe, expect, test } from 'vitest'
import { isEvent } from '../../src/kernel/event.ts'
import { runChaos } from './chaos-run.ts'
import { busyPlan, calmPlan, MANY_STEPS } from './fault-sweep.ts'
import { randomPlan } from './random-plan.ts'
import { conversationScenario } from './team-conversation-scenario.ts'
import type { ExpectedTeamRun } from './team-oracle.ts'
import { expectedTeamRun, teamProblems, teamProblemsAtEveryBoundary } from './team-oracle.ts'

const TIMEOUT_MS = 3_600_000
const SEEDS = Number(process.env.CHAOS_TEAM_SEEDS ?? 40)

const calm = calmPlan(conversationScenario)
const busy = busyPlan(conversationScenario)
let expected: ExpectedTeamRun

beforeAll(async () => {
  expected = await expectedTeamRun(calm)
})

describe('crashes of a team run with human input', () => {
  test('X1 X2 X3 J16 the undisturbed run covers every path of the scenario', () => {
    const { journal, run } = expected
    const route = journal.flatMap((event) => (isEvent(event, 'team:turn') ? event.data.agent : []))
    expect(route.join(' ')).toBe('w v w v w v w panel chief guide asker asker closer')
    const count = (type: string) => journal.filter((event) => event.type === type).length
    expect([count('team:loop'), count('gate:open')]).toEqual([1, 3])
    expect(count('team:compress')).toBeGreaterThan(0)
    expect(journal.find((event) => isEvent(event, 'team:start'))?.data).toMatchObject({
      filled_roles: [{ uses: 'alpha' }],
    })
    expect(run.response).toMatch(
      /^\[closer: user begin \| .*summary of \d+, \d+ decisions.* \| user yes \| asker asked 1\]$/,
    )
  })

  test(
    'X1 X2 X3 J16 killed at any boundary, it resumes to the same handoffs, questions and summaries',
    async () => {
      expect(await teamProblemsAtEveryBoundary(calm, expected, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'X1 X2 X3 J16 a power failure or a takeover by another process does not change the result',
    async () => {
      expect(await teamProblemsAtEveryBoundary(busy, expected, (boundary) => ({ kind: 'power', boundary }))).toEqual([])
      expect(
        await teamProblemsAtEveryBoundary(calm, expected, (boundary) => ({
          kind: 'suspend',
          boundary,
          steps: MANY_STEPS,
        })),
      ).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'X1 X2 X3 J16 random faults, latencies and answer times do not change the result',
    async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const outcome = await runChaos({ ...randomPlan(seed), scenario: conversationScenario })
        const problems = teamProblems(outcome, expected)
        if (problems.length > 0)
          throw new Error(`seed ${seed} ${JSON.stringify(outcome.plan.faults)}\n${problems.join('\n')}`)
      }
    },
    TIMEOUT_MS,
  )
})
