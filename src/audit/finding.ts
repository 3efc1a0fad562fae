import type { Event } from '../kernel/event.ts'
import type { JournalIndex } from '../kernel/journal/journal-index.ts'

/** What a journal shows that must not be. `rule` is a short name that stays the same. */
export interface Finding {
  seq: number
  rule: string
  message: string
}

/** The journal up to an event, for checks that look back. */
export interface CheckScope {
  /** What the events before this one remember of each step. */
  journalIndex: JournalIndex
  report(rule: string, message: string): void
}

/** Looks at one event after the other; what it must remember is its own. */
export type JournalCheck = (event: Event, before: CheckScope) => void
