import type { Context } from '../context.ts'
import type { Execution } from '../journal/execution.ts'
import type { Pattern } from '../pattern.ts'
import type { SessionState } from './session-state.ts'

/** One tool call within its turn. */
export interface ToolCallScope {
  execution: Execution
  session: SessionState
  signal: AbortSignal
  key: string
  /** Shared by all calls of one assistant message. */
  group: string
  /** A pattern's view of the run at this call. */
  contextFor(pattern: Pattern, key: string): Context
}
