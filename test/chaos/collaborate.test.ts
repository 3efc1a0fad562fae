import { beforeAll, describe, expect, test } from 'vitest'
import type { ChaosPlan, ChaosResult } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import { collaborationOutcome, collaborationProblems } from './collaborate-oracle.ts'
import { COLLABORATION_NAMES, collaborationScenario } from './collaborate-scenarios.ts'
import type { FaultSweep } from './fault-sweep.ts'
import { busyPlan, calmPlan, problemsAtEveryBoundary } from './fault-sweep.ts'

const TIMEOUT_MS = 3_600_000
beforeAll(async () => {
  // Warm-up: dynamic imports must be loaded before time is simulated.
  await runChaos(calmPlan(collaborationScenario('mediate')))
})

async function sweep(plan: ChaosPlan, name: string, fault: FaultSweep['fault']): Promise<string[]> {
  const scenario = collaborationScenario(name)
  const expected = collaborationOutcome(await runChaos(calmPlan(scenario)))
  const findProblems = (outcome: ChaosResult) => collaborationProblems(outcome, expected)
  return problemsAtEveryBoundary({ plan: { ...plan, scenario }, fault, findProblems, min_boundaries: 8 })
}

describe('the undisturbed collaborations', () => {
  const cases: [string, { calls: number; output?: RegExp }][] = [
    ['mediate', { calls: 7, output: /"before":\{"recommendation":"wait"/ }],
    ['escalate', { calls: 3, output: /"ruling":\{"by":"person","decision":"yes"/ }],
    ['early stop', { calls: 2, output: /"why":"cannot_change"/ }],
    ['equivalence judge', { calls: 4, output: /"method":"model"/ }],
    ['plain text reply', { calls: 4, output: /"recommendation":null/ }],
    ['invalid plan', { calls: 6 }],
    ['hierarchical conflict', { calls: 6, output: /"before"/ }],
    ['judge after a wave', { calls: 3, output: /"saved":\{"agents":\["c"\]/ }],
    ['embeddings', { calls: 4, output: /"agents":\["a","c"\].*"method":"model"/ }],
    ['empty coordinator reply', { calls: 5, output: /"status":"partial"/ }],
    ['parallel best_of', { calls: 4, output: /"best_of":\{"index":1/ }],
    ['hierarchical merge', { calls: 4, output: /"subtask":"three"/ }],
    ['tool call', { calls: 5, output: /consensus_score/ }],
  ]
  test.each(cases)('X1 X3 J16 %s takes the intended path', async (name, { calls, output = /./ }) => {
    const outcome = collaborationOutcome(await runChaos(calmPlan(collaborationScenario(name))))
    expect(outcome.calls).toBe(calls)
    expect(outcome.output).toMatch(output)
  })
})

describe('a collaboration that crashes resumes to the same result without repeating model requests', () => {
  test.each(COLLABORATION_NAMES)(
    'X1 X3 J16 %s, killed at every boundary',
    async (name) => {
      expect(await sweep(calmPlan(), name, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test.each(['mediate', 'escalate', 'invalid plan', 'parallel vote', 'tool call'])(
    'X1 X3 J16 %s, with latency, killed and with a power failure at every boundary',
    async (name) => {
      expect(await sweep(busyPlan(), name, (boundary) => ({ kind: 'kill', boundary }))).toEqual([])
      expect(await sweep(busyPlan(), name, (boundary) => ({ kind: 'power', boundary }))).toEqual([])
    },
    TIMEOUT_MS,
  )

  test('X1 X3 J16 the oracle detects a store that loses its last commit', async () => {
    const found = await sweep(busyPlan(), 'mediate', (boundary) => ({ kind: 'forget', boundary }))
    expect(found.join('\n')).toMatch(/was answered and requested again|requests, expected \d+/)
  })
})
