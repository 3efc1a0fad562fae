import type { ErrorRecord } from '../errors.ts'
import type { AssistantMessage, ModelStop, RefusedFeature, Usage } from './model.ts'
import type { ResponseFacts } from './request-progress.ts'
import type { RetryAttempt } from './retry-policy.ts'

/** Upper bound of a model request's usage, reserved before the call. */
export interface ReservedBudget {
  calls: number
  tokens: number
  usd: number
}

/** An entry of the plan that a performer reports. */
export interface PlanEntry {
  content: string
  status: 'pending' | 'in_progress' | 'completed'
  priority?: 'high' | 'medium' | 'low'
}

/** The usage of a request. */
interface ModelCharge {
  key: string
  attempt: number
  usage: Usage
  usd: number | null
  estimated?: true
  /** Figures of the provider that cannot be true; `usage` is an estimate instead. */
  refused_usage?: string
  mark?: string
  response?: ResponseFacts
}

export interface ModelEnd extends ModelCharge {
  message: AssistantMessage
  stop: ModelStop
  /** Set if the model sent more than `max_output` allows: the rest was not read. */
  cut_off?: true
  phase?: 'summary'
}

export interface ModelError extends ModelCharge {
  error: ErrorRecord
  /** The text received before the error. */
  partial_text: string
  /** The part of the request that the server does not accept; the retry leaves it out. */
  refused?: RefusedFeature
  /** Set if the call is retried; this error then does not settle the step. */
  retry?: RetryAttempt
}
