import type { TroupeError } from '../errors.ts'

/** A model call that failed. */
export interface FailedModelCall {
  model: string
  error: TroupeError
  /** Attempts at this call so far, this one included. */
  attempts: number
  /** Milliseconds since the first attempt of this execution. */
  elapsed_ms: number
  status?: number
  retry_after_ms?: number
  /** The models that were asked for, in order: the first, then its fallbacks. */
  models: readonly string[]
}

/** Try again after a while, with the same model or another. */
export interface RetryAttempt {
  model: string
  delay_ms: number
}

/**
 * How hard to knock on a provider's door. One for the whole process: what one agent learns about a rate limit slows the
 * others down too.
 */
export interface RetryPolicy {
  /** Resolves when calls to this model may be made; `undefined` when at once. */
  ready(model: string, signal: AbortSignal): Promise<void> | undefined
  /** What to do after a failure; `undefined` when trying again cannot help. */
  next(failed: FailedModelCall): RetryAttempt | undefined
}

/** Never waits and never tries again. */
export const NO_RETRIES: RetryPolicy = { ready: () => undefined, next: () => undefined }
