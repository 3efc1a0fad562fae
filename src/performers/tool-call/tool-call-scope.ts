import type { Context } from '../../kernel/context.ts'
import type { Execution } from '../../kernel/journal/execution.ts'
import type { Pattern } from '../../kernel/pattern.ts'
import type { SessionState } from '../../kernel/session/session-state.ts'

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
