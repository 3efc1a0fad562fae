import type { Event } from './event.ts'
import type { Recorded } from './recorded.ts'

/** What a journal shows that must not be. `rule` is a short name that stays the same. */
export interface Finding {
  seq: number
  rule: string
  message: string
}

/** The journal up to an event, for checks that look back. */
export interface Before {
  /** What the events before this one remember of each step. */
  recorded: Recorded
  say(rule: string, message: string): void
}

/** Looks at one event after the other; what it must remember is its own. */
export type Check = (event: Event, before: Before) => void
