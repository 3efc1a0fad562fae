import { beforeAll, describe, expect, test } from 'vitest'
import type { ChaosPlan } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import type { CollaborationOutcome } from './collaborate-oracle.ts'
import { collaborationOutcome, collaborationProblems } from './collaborate-oracle.ts'
import { COLLABORATION_NAMES, collaborationScenario } from './collaborate-scenarios.ts'
import type { Fault } from './simulated-process.ts'

const LONG = 3_600_000
const calm: ChaosPlan = {
  seed: 1,
  faults: [],
  slow: { model: 0, tool: 0, store: 0 },
  answer_timing: 'parked',
  answer_delay_ms: 0,
}
const busy: ChaosPlan = { ...calm, seed: 2, slow: { model: 40, tool: 20, store: 3 } }

beforeAll(async () => {
  // Whatever is imported late is there before time is simulated.
  await runChaos({ ...calm, scenario: collaborationScenario('mediate') })
})

/** Strikes once at every boundary; the first complaints, with where they arose. */
async function problemsAtEveryBoundary(plan: ChaosPlan, fault: (at: number) => Fault): Promise<string[]> {
  const undisturbed = await runChaos(plan)
  const expected: CollaborationOutcome = collaborationOutcome(
    await runChaos({ ...calm, ...(plan.scenario ? { scenario: plan.scenario } : undefined) }),
  )
  const boundaries = undisturbed.processes[0] ?? []
  expect(boundaries.length).toBeGreaterThan(10)
  const found = collaborationProblems(undisturbed, expected).map((wrong) => `undisturbed: ${wrong}`)
  for (let at = 1; at <= boundaries.length && found.length < 10; at++) {
    const struck = await runChaos({ ...plan, faults: [fault(at)] })
    for (const wrong of collaborationProblems(struck, expected)) found.push(`${at} ${boundaries[at - 1]}: ${wrong}`)
  }
  return found
}

describe('the collaborations', () => {
  const facts: [string, { calls: number; with?: RegExp }][] = [
    ['mediate', { calls: 7, with: /"before":\{"recommendation":"wait"/ }],
    ['escalate', { calls: 3, with: /"ruling":\{"by":"person","decision":"yes"/ }],
    ['solo, and enough', { calls: 1, with: /"synthesis":"solo"/ }],
    ['solo, and more', { calls: 3, with: /"collaborated":true/ }],
    ['waves that stop', { calls: 2, with: /"why":"cannot_change"/ }],
    ['a judge', { calls: 4, with: /"method":"model"/ }],
    ['prose', { calls: 4, with: /"recommendation":null/ }],
    ['a correction', { calls: 6 }],
    ['a division that disagrees', { calls: 6, with: /"before"/ }],
    ['by meaning', { calls: 4, with: /"agents":\["a","c"\].*"method":"model"/ }],
    ['a coordinator without words', { calls: 5, with: /"status":"partial"/ }],
    ['parallel best_of', { calls: 4, with: /"best_of":\{"index":1/ }],
    ['hierarchical merge', { calls: 4, with: /"subtask":"three"/ }],
    ['as a tool', { calls: 5, with: /consensus_score/ }],
  ]
  test.each(facts)('CO59 %s is what is played', async (name, { calls, with: within = /./ }) => {
    const { output, calls: made } = collaborationOutcome(
      await runChaos({ ...calm, scenario: collaborationScenario(name) }),
    )
    expect(made).toBe(calls)
    expect(output).toMatch(within)
  })
})

describe('a collaboration that is killed at every boundary goes on to the same result, and nothing is paid twice', () => {
  test.each(COLLABORATION_NAMES)(
    'CO59 %s',
    async (name) => {
      expect(
        await problemsAtEveryBoundary({ ...calm, scenario: collaborationScenario(name) }, (at) => ({
          kind: 'kill',
          at,
        })),
      ).toEqual([])
    },
    LONG,
  )

  test.each(['mediate', 'escalate', 'a correction', 'parallel vote', 'as a tool'])(
    'CO59 %s, with slow calls, and when the power fails',
    async (name) => {
      const scenario = collaborationScenario(name)
      expect(await problemsAtEveryBoundary({ ...busy, scenario }, (at) => ({ kind: 'kill', at }))).toEqual([])
      expect(await problemsAtEveryBoundary({ ...busy, scenario }, (at) => ({ kind: 'power', at }))).toEqual([])
    },
    LONG,
  )

  test('CO59 the oracle can see: a store that forgets its last commit is noticed', async () => {
    const found = await problemsAtEveryBoundary({ ...busy, scenario: collaborationScenario('mediate') }, (at) => ({
      kind: 'forget',
      at,
    }))
    expect(found.join('\n')).toMatch(/had its answer and was called again|calls, \d+ needed/)
  })
})
