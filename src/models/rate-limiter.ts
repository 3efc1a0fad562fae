import { TroupeError } from '../errors.ts'
import type { RateLimiter } from '../kernel/rate-limiter.ts'
import type { World } from '../kernel/world.ts'
import { providerName } from './endpoints.ts'

/*
 * Rate limits as token buckets that all processes of a store share.
 * 1. In any minute, at most `requests_per_minute` requests are sent to a provider or model, whatever process sends them.
 * 2. Tokens are known only after a request: they are taken then, and requests wait while the bucket is empty. The average stays
 *    below `tokens_per_minute`; requests in flight can exceed it once.
 */

export interface RateLimit {
  requests_per_minute?: number
  tokens_per_minute?: number
  /** Requests that may be sent at once after a pause. Default: a tenth of `requests_per_minute`. */
  burst?: number
}

/** Limits by provider (`anthropic`) or model (`openai/gpt-4o`); both apply. */
export type RateLimits = Readonly<Record<string, RateLimit>>

export interface TokenBuckets {
  /** Takes the tokens and returns 0, or returns the milliseconds to wait. */
  takeTokens(take: TokenBucketTake): Promise<number>
}

interface Bucket {
  key: string
  capacity: number
  refill_per_minute: number
}

interface TokenBucketTake extends Bucket {
  amount: number
  force?: true
}

export interface RateLimiterDeps {
  world: World
  buckets: TokenBuckets
  /** Called when usage could not be recorded; requests are then counted without their tokens. */
  onError(error: unknown): void
}

export function createRateLimiter(limits: RateLimits, { world, buckets, onError }: RateLimiterDeps): RateLimiter {
  const bucketsFor = (model: string, kind: 'requests' | 'tokens') =>
    [...new Set([providerName(model), model])].flatMap((name) => toBucket(name, limits[name], kind) ?? [])
  /** Takes one token of each bucket; returns those already taken if one of them has none. */
  const takeAll = async (wanted: readonly Bucket[]): Promise<number> => {
    for (const [index, bucket] of wanted.entries()) {
      const wait_ms = await buckets.takeTokens({ ...bucket, amount: 1 })
      if (wait_ms === 0) continue
      for (const taken of wanted.slice(0, index)) await buckets.takeTokens({ ...taken, amount: -1, force: true })
      return wait_ms
    }
    return 0
  }
  const acquire = async (wanted: readonly Bucket[], signal: AbortSignal) => {
    for (;;) {
      signal.throwIfAborted()
      const wait_ms = await takeAll(wanted)
      if (wait_ms === 0) return
      await world.sleep(wait_ms, signal)
    }
  }
  return {
    acquire(model, signal) {
      const wanted = [...bucketsFor(model, 'tokens'), ...bucketsFor(model, 'requests')]
      return wanted.length === 0 ? undefined : acquire(wanted, signal)
    },
    recordTokens(model, tokens) {
      for (const bucket of bucketsFor(model, 'tokens')) {
        // One token was taken before the request.
        buckets.takeTokens({ ...bucket, amount: Math.max(0, tokens - 1), force: true }).catch(onError)
      }
    },
  }
}

/** A full bucket and a minute of refilling together hold exactly the limit. */
function toBucket(name: string, limit: RateLimit | undefined, kind: 'requests' | 'tokens'): Bucket | undefined {
  const perMinute = kind === 'requests' ? limit?.requests_per_minute : limit?.tokens_per_minute
  if (perMinute === undefined) return undefined
  const burst = kind === 'requests' ? limit?.burst : undefined
  const capacity = Math.min(perMinute, burst ?? Math.max(1, Math.floor(perMinute / 10)))
  return { key: `${kind}:${name}`, capacity, refill_per_minute: perMinute - capacity + 1 }
}

const LIMIT_FIELDS: readonly string[] = [
  'requests_per_minute',
  'tokens_per_minute',
  'burst',
] satisfies (keyof RateLimit)[]

/** Throws `invalid_input` for an unknown field or an invalid number. */
export function checkRateLimits(limits: RateLimits): void {
  for (const [name, limit] of Object.entries(limits)) {
    for (const [field, value] of Object.entries(limit)) {
      if (LIMIT_FIELDS.includes(field) && Number.isFinite(value) && value >= 1) continue
      const problem = `${field} of '${name}' is ${value}, not a number of at least 1`
      throw new TroupeError('invalid_input', `\`models.rateLimits\`: ${problem}`, {
        hint: 'set requests_per_minute, tokens_per_minute or burst to a number of at least 1, or omit it',
        alternatives: [...LIMIT_FIELDS],
      })
    }
  }
}
