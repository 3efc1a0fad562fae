import type { RetryAttempt, RetryPolicy } from '../kernel/retry-policy.ts'
import type { World } from '../kernel/world.ts'

/*
 * Retries and rate limits for all calls of this process.
 * 1. A rate limit that one call meets holds back every call to the same provider until it is over.
 * 2. What cannot succeed is not tried again: wrong keys, malformed requests, contexts that are too long.
 * 3. After some failures the next model of the list takes over, if there is one.
 */

export interface RetryPolicyOptions {
  world: World
  /** Attempts at one call in all. */
  maxAttempts?: number
  /** Failures after which a fallback model takes over. */
  failuresBeforeFallback?: number
  /** Milliseconds after which no further attempt starts. */
  deadline_ms?: number
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 30_000

export function createRetryPolicy(options: RetryPolicyOptions): RetryPolicy {
  const { world, maxAttempts = 4, failuresBeforeFallback = 2, deadline_ms = 300_000 } = options
  const heldUntil = new Map<string, number>()
  return {
    ready(model, signal) {
      const until = heldUntil.get(providerOf(model))
      if (until === undefined || until <= world.now()) return undefined
      const latest = world.now() + deadline_ms
      return waitUntil(world, () => Math.min(latest, heldUntil.get(providerOf(model)) ?? 0), signal)
    },
    next(failed): RetryAttempt | undefined {
      const wait = Math.max(failed.retry_after_ms ?? 0, backoff(world, failed.attempts))
      const limited = failed.error.code === 'model_rate_limited'
      if (limited) holdProvider(heldUntil, providerOf(failed.model), world.now() + wait)
      const fallback = failed.models[failed.models.indexOf(failed.model) + 1]
      const tooLong = failed.elapsed_ms + wait > deadline_ms
      // An account that is empty, or a limit that outlasts the call, is no reason not to ask another model.
      if (fallback !== undefined && limited && (tooLong || !failed.error.retry)) return { model: fallback, delay_ms: 0 }
      const most = Math.max(maxAttempts, failed.models.length * failuresBeforeFallback)
      if (!failed.error.retry || isPermanentFailure(failed.status) || failed.attempts >= most || tooLong)
        return undefined
      if (fallback !== undefined && failed.attempts % failuresBeforeFallback === 0)
        return { model: fallback, delay_ms: 0 }
      return { model: failed.model, delay_ms: wait }
    },
  }
}

/** Answers that a second request would only get again. */
function isPermanentFailure(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status)
}

/** Twice as long each time, spread so that many callers do not come back at once. */
function backoff(world: World, attempts: number): number {
  const longest = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1))
  return Math.round(longest * (0.5 + world.random() / 2))
}

function holdProvider(heldUntil: Map<string, number>, provider: string, until: number): void {
  heldUntil.set(provider, Math.max(heldUntil.get(provider) ?? 0, until))
}

async function waitUntil(world: World, until: () => number, signal: AbortSignal): Promise<void> {
  for (let left = until() - world.now(); left > 0; left = until() - world.now()) await world.sleep(left, signal)
}

function providerOf(model: string): string {
  return model.split(/[/:]/)[0] ?? model
}
