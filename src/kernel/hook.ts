import type { Event } from './event.ts'

/** A tool call before it is made. */
export interface ProposedToolCall {
  run_id: string
  session_id: string
  agent: string
  tool: string
  input: unknown
}

/** `undefined` lets the call pass as it is. */
export type HookVerdict = { deny: string } | { input: unknown } | undefined

/** Text for the conversation; pinned, it stays whole when the conversation is compressed. */
export type AddedContext = string | { text: string; pin: true } | undefined

/** A model call before it is made. */
export interface ProposedTurn {
  run_id: string
  session_id: string
  agent: string
  turn: number
}

/**
 * What programs may attach. Decisions are recorded with the call they belong to, so a resumed run does not ask again.
 * Observers run after the commit, at least once.
 */
export interface Hooks {
  onEvent?(event: Event): void
  beforeTool?(call: ProposedToolCall): HookVerdict | Promise<HookVerdict>
  /** Text to add to the conversation before this model call. */
  addContext?(turn: ProposedTurn): AddedContext | Promise<AddedContext>
}
