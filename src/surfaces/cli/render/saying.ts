import type { Span } from './line.ts'

/** A line of progress: who speaks, how far it is indented, and what it says. */
export interface Saying {
  who?: { agent: string; depth: number } | undefined
  spans: readonly Span[]
}
