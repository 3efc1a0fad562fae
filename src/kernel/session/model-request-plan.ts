import type { Execution } from '../journal/execution.ts'
import type { Model, ModelRequest } from '../model.ts'
import type { Reservation } from './budget.ts'
import type { SessionState } from './session-state.ts'

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
