import { beforeAll, describe, expect, test } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { runChaos } from './chaos-run.ts'
import { randomPlan } from './random-plan.ts'
import type { ExpectedTeamRun } from './team-oracle.ts'
import { busyPlan, calmPlan, expectedTeamRun, problemsAtEveryBoundary, teamProblems } from './team-oracle.ts'
import { teamScenario } from './team-scenario.ts'

const LONG = 3_600_000
const SEEDS = Number(process.env.CHAOS_TEAM_SEEDS ?? 60)

const calm = calmPlan(teamScenario)
const busy = busyPlan(teamScenario)
let course: ExpectedTeamRun

beforeAll(async () => {
  course = await expectedTeamRun(calm)
})

/** How many wishes had been taken when the team ended. */
function handedOut(journal: readonly Event[]): number {
  const last = journal.findLast((event) => isEvent(event, 'step:end') && event.data.key.startsWith('ending/'))
  return isEvent(last, 'step:end') ? (last.data.result as { to: number }).to : 0
}

describe('a team that breaks off anywhere', () => {
  test('TM23 the undisturbed run says everything that was said, in order', () => {
    expect(course.expected.response).toBe(
      '[closer: user begin | user be quick | scout [scout: saw sky, ship ok] | left [left: charge ok] | ' +
        'right [right: put ok] | inner [worker: ship ok, {"name":"plan","version":1,"checksum":"' +
        `${/"checksum":"([^"]+)"/.exec(course.expected.response)?.[1]}","size":8}] plan@1]`,
    )
  })

  test(
    'TM23 killed at any boundary, it goes on to the same result: the same targets, each told once, nothing done or paid twice',
    async () => {
      expect(await problemsAtEveryBoundary(calm, course, (at) => ({ kind: 'kill', at }))).toEqual([])
      expect(await problemsAtEveryBoundary(busy, course, (at) => ({ kind: 'kill', at }))).toEqual([])
    },
    LONG,
  )

  test(
    'TM23 a power failure, a full disk or another process that took over change nothing of it',
    async () => {
      expect(await problemsAtEveryBoundary(busy, course, (at) => ({ kind: 'power', at }))).toEqual([])
      expect(await problemsAtEveryBoundary(busy, course, (at) => ({ kind: 'full', at }))).toEqual([])
      expect(await problemsAtEveryBoundary(calm, course, (at) => ({ kind: 'suspend', at, steps: LONG }))).toEqual([])
    },
    LONG,
  )

  test(
    'TM23 random faults, latencies and answers: every seed ends well',
    async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const played = await runChaos({ ...randomPlan(seed), scenario: teamScenario })
        const wrong = teamProblems(played, course)
        if (wrong.length > 0) throw new Error(`seed ${seed} ${JSON.stringify(played.plan.faults)}\n${wrong.join('\n')}`)
      }
    },
    LONG,
  )

  test(
    'SE2 what a person says at any moment is heard once and in order, whatever happens to the process',
    async () => {
      const words = Array.from({ length: 6 }, (_, n) => `word-${n}`)
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = randomPlan(seed)
        const later_messages = words.map((text, n) => ({ after: (seed * (n + 3) * 7) % 90, text }))
        const played = await runChaos({
          ...random,
          slow: busy.slow,
          scenario: { ...teamScenario, commands: [], later_messages },
        })
        expect(played.result?.status, `seed ${seed}`).toBe('completed')
        expect(verifyJournal(played.journal), `seed ${seed}`).toEqual([])
        // Two processes that are both awake may say the same; what was written down is what counts.
        const asked = (played.commands ?? []).flatMap(({ body }) => (body.kind === 'steer' ? body.action : []))
        const steers = played.journal.flatMap((event) => (isEvent(event, 'run:steer') ? event.data.action : []))
        expect(steers, `seed ${seed}`).toEqual(asked.slice(0, steers.length))
        const texts = steers.flatMap((action) => (action.do === 'say' ? action.text : []))
        const output = played.result?.output as { response: string } | undefined
        const heard = [...(output?.response ?? '').matchAll(/user (word-\d)/g)].map(([, word]) => word)
        expect(heard, `seed ${seed}`).toEqual(texts.slice(0, handedOut(played.journal)))
      }
    },
    LONG,
  )

  test(
    'TM23 the suite can fail: a store that forgets its last commit is noticed',
    async () => {
      const forgetful = await problemsAtEveryBoundary(busy, course, (at) => ({ kind: 'forget', at }))
      expect(forgetful.join('\n')).toMatch(/called again|done 2 times|fewer calls|lost|differ/)
    },
    LONG,
  )
})
