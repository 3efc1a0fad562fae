import type { Context } from './context.ts'
import type { Execution } from './execution.ts'
import type { SessionState } from './session.ts'

/** Where one tool call stands. */
export interface CallSite {
  x: Execution
  session: SessionState
  signal: AbortSignal
  key: string
  /** The same for all calls of one assistant message. */
  group: string
  /** A pattern's view of the run at this call. */
  contextFor(key: string): Context
}
