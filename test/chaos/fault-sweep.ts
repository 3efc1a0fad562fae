import { expect } from 'vitest'
import type { ChaosPlan, ChaosResult, RunScenario } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import type { Fault } from './simulated-process.ts'

const MAX_PROBLEMS = 20

/** More than any run needs: the other process finishes before the suspended one wakes up. */
export const MANY_STEPS = 1_000_000

/** No faults and no latency. */
export function calmPlan(scenario?: RunScenario): ChaosPlan {
  const latency = { model: 0, tool: 0, store: 0 }
  const plan: ChaosPlan = { seed: 1, faults: [], latency, answer_timing: 'parked', answer_delay_ms: 0 }
  return scenario ? { ...plan, scenario } : plan
}

/** No faults, but latency: steps overlap. */
export function busyPlan(scenario?: RunScenario): ChaosPlan {
  return { ...calmPlan(scenario), seed: 2, latency: { model: 40, tool: 20, store: 3 } }
}

export interface FaultSweep {
  plan: ChaosPlan
  fault(boundary: number): Fault
  findProblems(outcome: ChaosResult): string[] | Promise<string[]>
  /** Guards against a sweep that tests nothing. */
  min_boundaries: number
}

/** Repeats a run with one fault at each boundary of the undisturbed run and returns the first problems. */
export async function problemsAtEveryBoundary(sweep: FaultSweep): Promise<string[]> {
  const { plan, fault, findProblems, min_boundaries } = sweep
  const undisturbed = await runChaos(plan)
  const boundaries = undisturbed.processes[0] ?? []
  expect(boundaries.length).toBeGreaterThan(min_boundaries)
  expect(await findProblems(undisturbed)).toEqual([])
  const found: string[] = []
  for (let boundary = 1; boundary <= boundaries.length && found.length < MAX_PROBLEMS; boundary++) {
    const outcome = await runChaos({ ...plan, faults: [fault(boundary)] })
    for (const problem of await findProblems(outcome)) found.push(`${boundary} ${boundaries[boundary - 1]}: ${problem}`)
  }
  return found
}
