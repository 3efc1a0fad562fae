import type { RetryAttempt, RetryPolicy } from '../kernel/retry-policy.ts'
import type { World } from '../kernel/world.ts'
import { providerName } from './endpoints.ts'

/*
 * Retries with exponential backoff and rate limits, shared by all requests of this process.
 * 1. A rate limit pauses every request to the same provider until it is over.
 * 2. Permanent failures are not retried: invalid keys, malformed requests, too long contexts.
 * 3. After `failuresBeforeFallback` failures the next fallback model takes over.
 */

export interface RetryPolicyOptions {
  world: World
  /** Attempts per request, including the first. */
  maxAttempts?: number
  /** Failures of one model before its fallback takes over. */
  failuresBeforeFallback?: number
  /** Milliseconds since the first attempt after which no retry starts. */
  deadline_ms?: number
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 30_000

export function createRetryPolicy(options: RetryPolicyOptions): RetryPolicy {
  const { world, maxAttempts = 4, failuresBeforeFallback = 2, deadline_ms = 300_000 } = options
  const pausedUntil = new Map<string, number>()
  return {
    ready(model, signal) {
      const until = pausedUntil.get(providerName(model))
      if (until === undefined || until <= world.now()) return undefined
      const latest = world.now() + deadline_ms
      return waitUntil(world, () => Math.min(latest, pausedUntil.get(providerName(model)) ?? 0), signal)
    },
    next(failed): RetryAttempt | undefined {
      const delay_ms = Math.max(failed.retry_after_ms ?? 0, backoffDelay(world, failed.attempts))
      const isRateLimited = failed.error.code === 'model_rate_limited'
      if (isRateLimited) pauseProvider(pausedUntil, providerName(failed.model), world.now() + delay_ms)
      const fallback = failed.models[failed.models.indexOf(failed.model) + 1]
      const attempts = Math.max(maxAttempts, failed.models.length * failuresBeforeFallback)
      const count = { attempt: failed.attempts + 1, of: attempts }
      const pastDeadline = failed.elapsed_ms + delay_ms > deadline_ms
      // An empty account or a long rate limit blocks one provider only; another model can still respond.
      if (fallback !== undefined && isRateLimited && (pastDeadline || !failed.error.retry))
        return { model: fallback, delay_ms: 0, ...count }
      if (!failed.error.retry || isPermanentFailure(failed.status) || failed.attempts >= attempts || pastDeadline)
        return undefined
      if (fallback !== undefined && failed.attempts % failuresBeforeFallback === 0)
        return { model: fallback, delay_ms: 0, ...count }
      return { model: failed.model, delay_ms, ...count }
    },
  }
}

/** True for HTTP statuses that a retry would only repeat. */
function isPermanentFailure(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status)
}

/** Exponential backoff with jitter, which prevents a thundering herd of retries. */
function backoffDelay(world: World, attempts: number): number {
  const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1))
  return Math.round(delay * (0.5 + world.random() / 2))
}

function pauseProvider(pausedUntil: Map<string, number>, provider: string, until: number): void {
  pausedUntil.set(provider, Math.max(pausedUntil.get(provider) ?? 0, until))
}

async function waitUntil(world: World, until: () => number, signal: AbortSignal): Promise<void> {
  for (let left = until() - world.now(); left > 0; left = until() - world.now()) await world.sleep(left, signal)
}
