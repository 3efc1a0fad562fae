import type { Event } from '../kernel/event.ts'
import type { JournalIndex } from '../kernel/journal/journal-index.ts'

/** A violated journal invariant. `rule` is a stable short name. */
export interface Finding {
  seq: number
  rule: string
  message: string
}

export interface CheckScope {
  /** The index of the events before this one. */
  journalIndex: JournalIndex
  report(rule: string, message: string): void
}

/** Called with every event in order; keeps its own state. */
export type JournalCheck = (event: Event, scope: CheckScope) => void
