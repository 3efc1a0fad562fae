import type { TroupeError } from '../errors.ts'

export interface FailedModelCall {
  model: string
  error: TroupeError
  /** Attempts so far, including this one. */
  attempts: number
  /** Milliseconds since the first attempt of this execution. */
  elapsed_ms: number
  status?: number
  retry_after_ms?: number
  /** The requested model, then its fallbacks. */
  models: readonly string[]
}

/** The next attempt: when, and with which model. */
export interface RetryAttempt {
  model: string
  delay_ms: number
  /** Its number, from 1, and the most attempts. */
  attempt?: number
  of?: number
}

/** Retries with backoff. Shared by the whole process, so one agent's rate limit also holds back the others. */
export interface RetryPolicy {
  /** Resolves when the rate limit allows a call to this model; `undefined` if it may be made now. */
  ready(model: string, signal: AbortSignal): Promise<void> | undefined
  /** The next attempt after a failure; `undefined` if the failure is final. */
  next(failed: FailedModelCall): RetryAttempt | undefined
}

export const NO_RETRIES: RetryPolicy = { ready: () => undefined, next: () => undefined }
