import { beforeAll, describe, expect, test } from 'vitest'
import type { ChaosPlan, ChaosResult } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import type { ExpectedRun } from './oracle.ts'
import { expectedFrom, runProblems } from './oracle.ts'
import { randomPlan } from './random-plan.ts'
import type { Fault } from './simulated-process.ts'

/*
 * The reference run in simulated processes. CHAOS_SEEDS=n plays n random plans, CHAOS_SEED=n plays plan n alone and prints
 * it. Everything follows from the seed: the order of tasks, the latencies, the faults, and when the person answers.
 */

const SEEDS = Number(process.env.CHAOS_SEEDS ?? 400)
const ONE = process.env.CHAOS_SEED === undefined ? undefined : Number(process.env.CHAOS_SEED)
const LONG = 3_600_000
/** Seeds that found something once. */
const KNOWN = [703, 866, 4383, 6335, 9054]

const calm: ChaosPlan = {
  seed: 1,
  faults: [],
  slow: { model: 0, tool: 0, store: 0 },
  answer_timing: 'parked',
  answer_delay_ms: 0,
}
const busy: ChaosPlan = { ...calm, seed: 2, slow: { model: 40, tool: 20, store: 3 } }
let expected: ExpectedRun

beforeAll(async () => {
  // Whatever is imported late is there before time is simulated.
  await runChaos(calm)
  expected = expectedFrom(await runChaos(calm))
})

/** Strikes once at every boundary that the undisturbed run passes; the first complaints, with where they arose. */
async function problemsAtEveryBoundary(plan: ChaosPlan, fault: (at: number) => Fault): Promise<string[]> {
  const undisturbed = await runChaos(plan)
  const boundaries = undisturbed.processes[0] ?? []
  expect(boundaries.length).toBeGreaterThan(150)
  expect(runProblems(undisturbed, expected)).toEqual([])
  const found: string[] = []
  for (let at = 1; at <= boundaries.length && found.length < 20; at++) {
    const struck = await runChaos({ ...plan, faults: [fault(at)] })
    for (const complaint of runProblems(struck, expected)) found.push(`${at} ${boundaries[at - 1]}: ${complaint}`)
  }
  return found
}

describe('one fault at every boundary of the reference run', () => {
  test(
    'X1 X2 X3 killed before or after any effect or commit, it goes on to the same result, acts once and pays once',
    async () => {
      expect(await problemsAtEveryBoundary(calm, (at) => ({ kind: 'kill', at }))).toEqual([])
      expect(await problemsAtEveryBoundary(busy, (at) => ({ kind: 'kill', at }))).toEqual([])
    },
    LONG,
  )

  test(
    'X4 when the power fails, what was not synced is gone, and no action is repeated, no answer and no result lost',
    async () => {
      expect(await problemsAtEveryBoundary(busy, (at) => ({ kind: 'power', at }))).toEqual([])
    },
    LONG,
  )

  test(
    'X5 a process that stood still past its lease is refused when it wakes up, and neither acts nor calls again',
    async () => {
      expect(await problemsAtEveryBoundary(calm, (at) => ({ kind: 'suspend', at, steps: LONG }))).toEqual([])
      expect(await problemsAtEveryBoundary(busy, (at) => ({ kind: 'suspend', at, steps: at % 90 }))).toEqual([])
    },
    LONG,
  )

  test(
    'X6 a commit that the disk refuses stops the run where it can be resumed',
    async () => {
      expect(await problemsAtEveryBoundary(busy, (at) => ({ kind: 'full', at }))).toEqual([])
    },
    LONG,
  )
})

describe('random plans', () => {
  test(
    'X7 X8 one to three faults, any latencies, any order, and an answer at any moment: every seed ends well',
    async () => {
      const seeds = ONE === undefined ? [...KNOWN, ...Array.from({ length: SEEDS }, (_, n) => n + 1)] : [ONE]
      for (const seed of seeds) {
        const played = await runChaos(randomPlan(seed))
        const found = runProblems(played, expected)
        if (ONE !== undefined) console.log(describeRun(played))
        if (found.length > 0) throw new Error(`CHAOS_SEED=${seed} ${JSON.stringify(played.plan)}\n${found.join('\n')}`)
      }
    },
    LONG,
  )

  test('the same seed plays the same run, event for event', async () => {
    for (const seed of [3, 14, 15]) {
      const [one, two] = [await runChaos(randomPlan(seed)), await runChaos(randomPlan(seed))]
      expect(two.processes).toEqual(one.processes)
      expect(two.journal.map(withoutOwner)).toEqual(one.journal.map(withoutOwner))
    }
  })
})

describe('the suite can fail', () => {
  test(
    'a store that forgets its last commit is noticed, and so are tools that repeat what was begun',
    async () => {
      const forgetful = await problemsAtEveryBoundary(busy, (at) => ({ kind: 'forget', at }))
      expect(forgetful.join('\n')).toMatch(/called again|done 2 times|fewer calls|lost/)
      const careless = await problemsAtEveryBoundary({ ...busy, skip_recovery: true }, (at) => ({ kind: 'kill', at }))
      expect(careless.join('\n')).toMatch(/was done 2 times/)
    },
    LONG,
  )
})

function describeRun({ plan, processes, journal, errors }: ChaosResult): string {
  const events = journal.map(({ seq, type, data }) => `${seq} ${type} ${JSON.stringify(data).slice(0, 160)}`)
  const boundaries = processes.map((passed, n) => `life ${n}: ${passed.length} boundaries, the last ${passed.at(-1)}`)
  return [JSON.stringify(plan), ...boundaries, ...errors.map(String), ...events].join('\n')
}

/** Processes are named after the real one. */
function withoutOwner({ seq, type, data, at }: ChaosResult['journal'][number]): unknown {
  return type === 'run:attempt' ? { seq, type, at } : { seq, type, data, at }
}
