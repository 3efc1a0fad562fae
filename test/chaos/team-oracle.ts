import { expect } from 'vitest'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { ChaosPlan, ChaosResult, RunScenario } from './chaos-run.ts'
import { runChaos } from './chaos-run.ts'
import type { ExpectedRun } from './oracle.ts'
import { expectedFrom, runProblems } from './oracle.ts'
import type { Fault } from './simulated-process.ts'

/** What an undisturbed team comes to. */
export interface ExpectedTeamRun {
  expected: ExpectedRun
  handoffs: unknown[]
  journal: readonly Event[]
}

export function calmPlan(scenario: RunScenario): ChaosPlan {
  const slow = { model: 0, tool: 0, store: 0 }
  return { seed: 1, faults: [], slow, answer_timing: 'parked', answer_delay_ms: 0, scenario }
}

export function busyPlan(other: RunScenario): ChaosPlan {
  return { ...calmPlan(other), seed: 2, slow: { model: 40, tool: 20, store: 3 } }
}

export async function expectedTeamRun(plan: ChaosPlan): Promise<ExpectedTeamRun> {
  // Whatever is imported late is there before time is simulated.
  await runChaos(plan)
  const undisturbed = await runChaos(plan)
  const { journal } = undisturbed
  return { expected: expectedFrom(undisturbed), handoffs: handoffRows(journal), journal }
}

/** Who handed to whom, and why: each once, and the same however often the run broke off. */
function handoffRows(journal: readonly Event[]): unknown[] {
  return journal.flatMap((event) =>
    isEvent(event, 'team:handoff') ? [[event.data.key, event.data.from, event.data.to, event.data.by]] : [],
  )
}

export function teamProblems(played: ChaosResult, { expected, handoffs }: ExpectedTeamRun): string[] {
  const [now, before] = [handoffRows(played.journal), handoffs].map((list) => JSON.stringify([...list].sort()))
  const steers = played.journal.filter((event) => isEvent(event, 'run:steer')).length
  const asked = played.plan.scenario?.commands.length ?? 0
  return [
    ...runProblems(played, expected),
    ...(now === before ? [] : [`handed over otherwise: ${now}`]),
    ...(steers === asked ? [] : [`what the user said was taken ${steers} times`]),
  ]
}

/** Strikes at every boundary of the run, one after the other. */
export async function problemsAtEveryBoundary(
  plan: ChaosPlan,
  course: ExpectedTeamRun,
  fault: (at: number) => Fault,
): Promise<string[]> {
  const undisturbed = await runChaos(plan)
  const boundaries = undisturbed.processes[0] ?? []
  expect(boundaries.length).toBeGreaterThan(80)
  expect(teamProblems(undisturbed, course)).toEqual([])
  const all: string[] = []
  for (let at = 1; at <= boundaries.length && all.length < 20; at++) {
    const struck = await runChaos({ ...plan, faults: [fault(at)] })
    for (const complaint of teamProblems(struck, course)) all.push(`${at} ${boundaries[at - 1]}: ${complaint}`)
  }
  return all
}
