import { beforeAll, describe, expect, test } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { runChaos } from './chaos-run.ts'
import { busyPlan, calmPlan, MANY_STEPS } from './fault-sweep.ts'
import { randomPlan } from './random-plan.ts'
import type { ExpectedTeamRun } from './team-oracle.ts'
import { expectedTeamRun, teamProblems, teamProblemsAtEveryBoundary } from './team-oracle.ts'
import { teamScenario } from './team-scenario.ts'

const TIMEOUT_MS = 3_600_000
const SEEDS = Number(process.env.CHAOS_TEAM_SEEDS ?? 60)

const calm = calmPlan(teamScenario)
const busy = busyPlan(teamScenario)
let expected: ExpectedTeamRun

beforeAll(async () => {
  expected = await expectedTeamRun(calm)
})

/** Number of user messages delivered when the team ended. */
function countDelivered(journal: readonly Event[]): number {
  const last = journal.findLast((event) => isEvent(event, 'step:end') && event.data.key.startsWith('ending/'))
  return isEvent(last, 'step:end') ? (last.data.result as { to: number }).to : 0
}

describe('crashes of a team run', () => {
  test('X1 X2 X3 J16 the response of the undisturbed run contains the whole conversation, in order', () => {
    expect(expected.run.response).toBe(
      '[closer: user begin | user be quick | scout [scout: saw sky, ship ok] | left [left: charge ok] | ' +
        'right [right: put ok] | inner [worker: ship ok, {"name":"plan","version":1,"checksum":"' +
        `${/"checksum":"([^"]+)"/.exec(expected.run.response)?.[1]}","size":8}] plan@1]`,
    )
  })

  test(
    'X1 X2 X3 J16 killed at any boundary, it resumes to the same result and handoffs; no action or model request is repeated',
    async () => {
      expect(await teamProblemsAtEveryBoundary(calm, expected, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
      expect(await teamProblemsAtEveryBoundary(busy, expected, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'X1 X2 X3 J16 a power failure, a full disk or a takeover by another process do not change the result',
    async () => {
      expect(await teamProblemsAtEveryBoundary(busy, expected, (boundary) => ({ kind: 'power', boundary }))).toEqual([])
      expect(await teamProblemsAtEveryBoundary(busy, expected, (boundary) => ({ kind: 'full', boundary }))).toEqual([])
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
        const outcome = await runChaos({ ...randomPlan(seed), scenario: teamScenario })
        const problems = teamProblems(outcome, expected)
        if (problems.length > 0)
          throw new Error(`seed ${seed} ${JSON.stringify(outcome.plan.faults)}\n${problems.join('\n')}`)
      }
    },
    TIMEOUT_MS,
  )

  test(
    'SE2 messages sent at any moment are delivered once and in order, whatever happens to the process',
    async () => {
      const messages = Array.from({ length: 6 }, (_, n) => `word-${n}`)
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = randomPlan(seed)
        const later_messages = messages.map((text, n) => ({ delay_ms: (seed * (n + 3) * 7) % 90, text }))
        const outcome = await runChaos({
          ...random,
          latency: busy.latency,
          scenario: { ...teamScenario, commands: [], later_messages },
        })
        expect(outcome.result?.status, `seed ${seed}`).toBe('completed')
        expect(verifyJournal(outcome.journal), `seed ${seed}`).toEqual([])
        // Two live processes may both send a message; the command queue is authoritative.
        const queued = (outcome.commands ?? []).flatMap(({ body }) => (body.kind === 'steer' ? body.action : []))
        const steers = outcome.journal.flatMap((event) => (isEvent(event, 'run:steer') ? event.data.action : []))
        expect(steers, `seed ${seed}`).toEqual(queued.slice(0, steers.length))
        const texts = steers.flatMap((action) => (action.do === 'say' ? action.text : []))
        const output = outcome.result?.output as { response: string } | undefined
        const delivered = [...(output?.response ?? '').matchAll(/user (word-\d)/g)].map(([, word]) => word)
        expect(delivered, `seed ${seed}`).toEqual(texts.slice(0, countDelivered(outcome.journal)))
      }
    },
    TIMEOUT_MS,
  )

  test(
    'X1 X2 X3 J16 the oracle detects a store that loses its last commit',
    async () => {
      const found = await teamProblemsAtEveryBoundary(busy, expected, (boundary) => ({ kind: 'forget', boundary }))
      expect(found.join('\n')).toMatch(/requested again|executed 2 times|fewer requests|lost|differ/)
    },
    TIMEOUT_MS,
  )
})
