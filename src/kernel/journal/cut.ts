import type { Event } from '../event.ts'
import { isEvent } from '../event.ts'
import { ancestorKeys } from './step-key.ts'

/*
 * `run:cut` names what was worked out anew: recorded steps that depended on a retried one, with all below them. A key that ends with a slash
 * stands for its step alone: those below it are steps of their own, some of which stay.
 */

/** The keys that a cut of this step may name. */
export function cutNames(key: string): string[] {
  return [aloneName(key), key, ...ancestorKeys(key)]
}

export function aloneName(key: string): string {
  return `${key}/`
}

/** Counts the cuts of each step. */
export class CutCounts {
  readonly #counts = new Map<string, number>()

  add(keys: readonly string[]): void {
    for (const key of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** The part of an id that names its step: another one after each cut. */
  identity(key: string): string {
    if (this.#counts.size === 0) return key
    const count = cutNames(key).reduce((sum, each) => sum + (this.#counts.get(each) ?? 0), 0)
    return count === 0 ? key : `${key}#${count + 1}`
  }
}

/** The steps that an event cuts. */
export function stepsCutBy(event: Event): readonly string[] {
  if (isEvent(event, 'run:cut')) return event.data.keys
  return isEvent(event, 'run:reopen') ? (event.data.cut ?? []) : []
}

/** Tells whether a `run:cut` among these events, after a position, names a step or one above it. */
export function cutTest(events: readonly Event[]): (key: string, seq: number) => boolean {
  const cutAt = new Map<string, number>()
  for (const event of events) for (const key of stepsCutBy(event)) cutAt.set(key, event.seq)
  if (cutAt.size === 0) return () => false
  return (key, seq) => cutNames(key).some((each) => seq < (cutAt.get(each) ?? 0))
}

/** The journal without the work that was cut. */
export function withoutCut(events: readonly Event[]): Event[] {
  const isCut = cutTest(events)
  // The key of `run:reopen` is that of another step.
  return events.filter(
    (event) => isEvent(event, 'run:reopen') || !isCut((event.data as { key?: string }).key ?? '', event.seq),
  )
}
