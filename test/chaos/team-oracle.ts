import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { handoffsFrom } from '../support/team-harness.ts'
import type { ChaosPlan, ChaosResult } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import type { FaultSweep } from './fault-sweep.ts'
import { problemsAtEveryBoundary } from './fault-sweep.ts'
import type { ExpectedRun } from './oracle.ts'
import { expectedFrom, runProblems } from './oracle.ts'

/** Result of an undisturbed team run. */
export interface ExpectedTeamRun {
  run: ExpectedRun
  handoffs: unknown[]
  journal: readonly Event[]
}

export async function expectedTeamRun(plan: ChaosPlan): Promise<ExpectedTeamRun> {
  // Warm-up: dynamic imports must be loaded before time is simulated.
  await runChaos(plan)
  return expectedFromTeam(await runChaos(plan))
}

export function expectedFromTeam(undisturbed: ChaosResult): ExpectedTeamRun {
  const { journal } = undisturbed
  return { run: expectedFrom(undisturbed), handoffs: handoffRows(journal), journal }
}

/** Identifies each handoff; crashes must neither repeat nor change one. */
function handoffRows(journal: readonly Event[]): unknown[] {
  return handoffsFrom(journal).map(({ key, from, to, by }) => [key, from, to, by])
}

export function teamProblems(outcome: ChaosResult, { run, handoffs }: ExpectedTeamRun): string[] {
  const [actual, wanted] = [handoffRows(outcome.journal), handoffs].map((list) => JSON.stringify([...list].sort()))
  const steers = outcome.journal.filter((event) => isEvent(event, 'run:steer')).length
  const queued = outcome.plan.scenario?.commands.length ?? 0
  return [
    ...runProblems(outcome, run),
    ...(actual === wanted ? [] : [`handoffs differ: ${actual}`]),
    ...(steers === queued ? [] : [`${steers} steer commands accepted instead of ${queued}`]),
  ]
}

/** Sweeps one fault over every boundary of a team run. */
export function teamProblemsAtEveryBoundary(
  plan: ChaosPlan,
  expected: ExpectedTeamRun,
  fault: FaultSweep['fault'],
): Promise<string[]> {
  const findProblems = (outcome: ChaosResult) => teamProblems(outcome, expected)
  return problemsAtEveryBoundary({ plan, fault, findProblems, min_boundaries: 80 })
}
