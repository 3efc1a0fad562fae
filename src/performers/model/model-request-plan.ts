import type { Execution } from '../../kernel/journal/execution.ts'
import type { Model, ModelRequest } from '../../kernel/model.ts'
import type { Reservation } from '../../kernel/session/budget.ts'
import type { SessionState } from '../../kernel/session/session-state.ts'

export interface ModelRequestScope {
  execution: Execution
  session: SessionState
  model: Model
  modelName: string
  /** The requested model, then its fallbacks. */
  models: readonly string[]
  signal: AbortSignal
}

export interface ModelRequestPlan {
  key: string
  /** Upper bound of the input tokens, for the reservation. */
  maxInputTokens: number
  /** Identifies the input, to detect drift on resume. */
  inputHash(model: string): string
  buildRequest(model: string, reservation: Reservation): ModelRequest
  /** Set when the request is not a turn of the conversation. */
  phase?: 'summary'
}
