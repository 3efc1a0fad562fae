import { beforeAll, describe, expect, test } from 'vitest'
import type { ChaosPlan, ChaosResult } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import type { FaultSweep } from './fault-sweep.ts'
import { busyPlan, calmPlan, MANY_STEPS, problemsAtEveryBoundary } from './fault-sweep.ts'
import type { ExpectedRun } from './oracle.ts'
import { expectedFrom, runProblems } from './oracle.ts'
import { randomPlan } from './random-plan.ts'

/*
 * The reference run in simulated processes (deterministic simulation testing). CHAOS_SEEDS=n runs n random plans,
 * CHAOS_SEED=n runs and prints plan n alone. The seed decides the order of tasks, latencies, faults and answer times.
 */

const SEEDS = Number(process.env.CHAOS_SEEDS ?? 400)
const SINGLE_SEED = process.env.CHAOS_SEED === undefined ? undefined : Number(process.env.CHAOS_SEED)
const TIMEOUT_MS = 3_600_000
/** Seeds that once found a bug. */
const REGRESSION_SEEDS = [703, 866, 4383, 6335, 9054]

const calm = calmPlan()
const busy = busyPlan()
let expected: ExpectedRun

beforeAll(async () => {
  // Warm-up: dynamic imports must be loaded before time is simulated.
  await runChaos(calm)
  expected = expectedFrom(await runChaos(calm))
})

function sweep(plan: ChaosPlan, fault: FaultSweep['fault']): Promise<string[]> {
  const findProblems = (outcome: ChaosResult) => runProblems(outcome, expected)
  return problemsAtEveryBoundary({ plan, fault, findProblems, min_boundaries: 150 })
}

describe('one fault at every boundary of the reference run', () => {
  test(
    'X1 X2 X3 killed before or after any effect or commit, it resumes to the same result; no action or model request is repeated',
    async () => {
      expect(await sweep(calm, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
      expect(await sweep(busy, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'X4 a power failure loses only unsynced events: no action is repeated, no answer and no result is lost',
    async () => {
      expect(await sweep(busy, (boundary) => ({ kind: 'power', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'X5 a process suspended past its lease is fenced off when it wakes up, and neither acts nor sends model requests',
    async () => {
      expect(await sweep(calm, (boundary) => ({ kind: 'suspend', boundary, steps: MANY_STEPS }))).toEqual([])
      expect(await sweep(busy, (boundary) => ({ kind: 'suspend', boundary, steps: boundary % 90 }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'X6 a full disk stops the run in a resumable state',
    async () => {
      expect(await sweep(busy, (boundary) => ({ kind: 'full', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )
})

describe('random plans', () => {
  test(
    'X7 E4 one to three random faults, latencies, orders and answer times do not change the result',
    async () => {
      const seeds =
        SINGLE_SEED === undefined
          ? [...REGRESSION_SEEDS, ...Array.from({ length: SEEDS }, (_, n) => n + 1)]
          : [SINGLE_SEED]
      for (const seed of seeds) {
        const outcome = await runChaos(randomPlan(seed))
        const found = runProblems(outcome, expected)
        if (SINGLE_SEED !== undefined) console.log(describeRun(outcome))
        if (found.length > 0) throw new Error(`CHAOS_SEED=${seed} ${JSON.stringify(outcome.plan)}\n${found.join('\n')}`)
      }
    },
    TIMEOUT_MS,
  )

  test('the same seed gives the same run, event for event', async () => {
    for (const seed of [3, 14, 15]) {
      const [one, two] = [await runChaos(randomPlan(seed)), await runChaos(randomPlan(seed))]
      expect(two.processes).toEqual(one.processes)
      expect(two.journal.map(withoutOwner)).toEqual(one.journal.map(withoutOwner))
    }
  })
})

describe('the oracle detects bugs', () => {
  test(
    'a store that loses its last commit and tools without recovery are detected',
    async () => {
      const lostCommit = await sweep(busy, (boundary) => ({ kind: 'forget', boundary }))
      expect(lostCommit.join('\n')).toMatch(/requested again|executed 2 times|fewer requests|lost/)
      const skippedRecovery = await sweep({ ...busy, skip_recovery: true }, (boundary) => ({ kind: 'kill', boundary }))
      expect(skippedRecovery.join('\n')).toMatch(/was executed 2 times/)
    },
    TIMEOUT_MS,
  )
})

function describeRun({ plan, processes, journal, errors }: ChaosResult): string {
  const events = journal.map(({ seq, type, data }) => `${seq} ${type} ${JSON.stringify(data).slice(0, 160)}`)
  const boundaries = processes.map(
    (passed, n) => `process ${n}: ${passed.length} boundaries, the last ${passed.at(-1)}`,
  )
  return [JSON.stringify(plan), ...boundaries, ...errors.map(String), ...events].join('\n')
}

/** The owner contains the id of the real process. */
function withoutOwner({ seq, type, data, at }: ChaosResult['journal'][number]): unknown {
  return type === 'run:attempt' ? { seq, type, at } : { seq, type, data, at }
}
