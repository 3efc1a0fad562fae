import { beforeAll, describe, expect, test } from 'vitest'
import type { ChaosPlan, ChaosResult } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import { collaborationOutcome, collaborationProblems } from './collaborate-oracle.ts'
import { tableProblems } from './consult-oracle.ts'
import { CONSULT_NAMES, consultScenario } from './consult-scenarios.ts'
import type { FaultSweep } from './fault-sweep.ts'
import { busyPlan, calmPlan, problemsAtEveryBoundary } from './fault-sweep.ts'

const TIMEOUT_MS = 3_600_000
beforeAll(async () => {
  // Warm-up: dynamic imports must be loaded before time is simulated.
  await runChaos(calmPlan(consultScenario('rated')))
})

/** Also checks that the tables equal those that the journal gives. */
async function sweep(plan: ChaosPlan, name: string, fault: FaultSweep['fault']): Promise<string[]> {
  const scenario = consultScenario(name)
  const expected = collaborationOutcome(await runChaos(calmPlan(scenario)))
  const findProblems = async (outcome: ChaosResult) => [
    ...collaborationProblems(outcome, expected),
    ...(outcome.store ? await tableProblems(outcome.store, outcome.journal) : ['no store']),
  ]
  return problemsAtEveryBoundary({ plan: { ...plan, scenario }, fault, findProblems, min_boundaries: 8 })
}

describe('the undisturbed consultations', () => {
  const cases: [string, { calls: number; output: RegExp }][] = [
    ['run', { calls: 2, output: /"status":"resolved".*"answer":"Go\."/ }],
    ['tool call', { calls: 4, output: /Go\./ }],
    ['rated', { calls: 5, output: /success_rating/ }],
    ['clarification', { calls: 6, output: /Go\./ }],
    ['background', { calls: 8, output: /Go\./ }],
    ['background, not collected', { calls: 4, output: /It is open\./ }],
    ['background, several', { calls: 7, output: /Both\./ }],
    ['background, failing specialist', { calls: 8, output: /Wait\./ }],
    ['failing specialist', { calls: 7, output: /Wait\./ }],
    ['several', { calls: 4, output: /"answer":"Both\."/ }],
    ['person', { calls: 2, output: /"status":"resolved"/ }],
    ['wait-for cycle', { calls: 7, output: /missing_information|Which one/ }],
  ]
  test.each(cases)('X1 X3 %s takes the intended path', async (name, { calls, output }) => {
    const outcome = collaborationOutcome(await runChaos(calmPlan(consultScenario(name))))
    expect(outcome.output).toMatch(output)
    expect(outcome.calls).toBe(calls)
  })
})

test(
  'X1 X3 a person, who answers from another process, killed at every boundary',
  async () => {
    const plan: ChaosPlan = { ...busyPlan(), answer_timing: 'elsewhere' }
    expect(await sweep(plan, 'person', (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
  },
  TIMEOUT_MS,
)

describe('a consultation that crashes resumes to the same result without repeating model requests', () => {
  test.each(CONSULT_NAMES)(
    'X1 X3 %s, killed at every boundary',
    async (name) => {
      expect(await sweep(calmPlan(), name, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test.each(['tool call', 'clarification', 'background'])(
    'X1 X3 %s, with latency, killed and with a power failure at every boundary',
    async (name) => {
      expect(await sweep(busyPlan(), name, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
      expect(await sweep(busyPlan(), name, (boundary) => ({ kind: 'power', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )
})
