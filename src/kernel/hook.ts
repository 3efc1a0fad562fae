import type { Event } from './event.ts'
import type { RunMetadata } from './run-metadata.ts'

/** A tool call before it executes. */
export interface ProposedToolCall {
  run_id: string
  session_id: string
  agent: string
  /** Tags and context of the run. */
  run: RunMetadata
  tool: string
  input: unknown
}

/** `deny` refuses the call with a reason, `input` replaces its input, `undefined` lets it pass. */
export type HookVerdict = { deny: string } | { input: unknown } | undefined

/** Text for the conversation; with `pin`, compaction keeps it whole. */
export type AddedContext = string | { text: string; pin: true } | undefined

/** A turn before its model request. */
export interface ProposedTurn {
  run_id: string
  session_id: string
  agent: string
  /** Tags and context of the run. */
  run: RunMetadata
  turn: number
}

/**
 * Hooks of a program. Decisions are recorded with their call, so a resumed run does not ask again. `onEvent` runs after
 * the commit, at least once per event.
 */
export interface Hooks {
  onEvent?(event: Event): void
  beforeTool?(call: ProposedToolCall): HookVerdict | Promise<HookVerdict>
  /** Text to add to the conversation before this model request. */
  addContext?(turn: ProposedTurn): AddedContext | Promise<AddedContext>
}
