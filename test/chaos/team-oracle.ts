import { expect } from 'vitest'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Fault } from './life.ts'
import type { Expected } from './oracle.ts'
import { complaints, expectedOf } from './oracle.ts'
import type { OtherRun, Plan, Played } from './play.ts'
import { play } from './play.ts'

/** What an undisturbed team comes to. */
export interface TeamCourse {
  expected: Expected
  handoffs: unknown[]
  journal: readonly Event[]
}

export function calmly(other: OtherRun): Plan {
  const slow = { model: 0, tool: 0, store: 0 }
  return { seed: 1, faults: [], slow, answers: 'parked', thinks: 0, other }
}

export function busily(other: OtherRun): Plan {
  return { ...calmly(other), seed: 2, slow: { model: 40, tool: 20, store: 3 } }
}

export async function courseOf(plan: Plan): Promise<TeamCourse> {
  // Whatever is imported late is there before time is simulated.
  await play(plan)
  const undisturbed = await play(plan)
  const { journal } = undisturbed
  return { expected: expectedOf(undisturbed), handoffs: handoffsIn(journal), journal }
}

/** Who handed to whom, and why: each once, and the same however often the run broke off. */
function handoffsIn(journal: readonly Event[]): unknown[] {
  return journal.flatMap((event) =>
    isEvent(event, 'team:handoff') ? [[event.data.key, event.data.from, event.data.to, event.data.by]] : [],
  )
}

export function found(played: Played, { expected, handoffs }: TeamCourse): string[] {
  const [now, before] = [handoffsIn(played.journal), handoffs].map((list) => JSON.stringify([...list].sort()))
  const steers = played.journal.filter((event) => isEvent(event, 'run:steer')).length
  const asked = played.plan.other?.commands.length ?? 0
  return [
    ...complaints(played, expected),
    ...(now === before ? [] : [`handed over otherwise: ${now}`]),
    ...(steers === asked ? [] : [`what the user said was taken ${steers} times`]),
  ]
}

/** Strikes at every boundary of the run, one after the other. */
export async function everywhere(plan: Plan, course: TeamCourse, fault: (at: number) => Fault): Promise<string[]> {
  const undisturbed = await play(plan)
  const boundaries = undisturbed.lives[0] ?? []
  expect(boundaries.length).toBeGreaterThan(80)
  expect(found(undisturbed, course)).toEqual([])
  const all: string[] = []
  for (let at = 1; at <= boundaries.length && all.length < 20; at++) {
    const struck = await play({ ...plan, faults: [fault(at)] })
    for (const complaint of found(struck, course)) all.push(`${at} ${boundaries[at - 1]}: ${complaint}`)
  }
  return all
}
