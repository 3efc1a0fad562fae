import { TroupeError, unknownNameError } from '../../../errors.ts'
import { definedFields } from '../../../schema/json-value.ts'
import type { Principal } from '../auth/principal.ts'
import { refuse } from './refusal.ts'

/*
 * Limits of each principal (denial of service): a rate, requests at once, and open streams. Callers without a valid token share one
 * principal.
 */

export interface LimitOptions {
  /** Requests per second, on average. */
  rate: number
  /** Requests that may come at once. */
  burst: number
  /** Requests that are answered at the same time. */
  concurrency: number
  streams: number
}

export const DEFAULT_REQUEST_LIMITS: LimitOptions = { rate: 100, burst: 400, concurrency: 64, streams: 1000 }

export interface RequestLimits {
  /** Counts a request; 429 above the limits. Returns the function that ends it. */
  beginRequest(caller: string): () => void
  /** Counts a stream; 429 above the limit. Returns the function that ends it. */
  openStream(principal: Principal): () => void
}

interface Usage {
  tokens: number
  at: number
  requests: number
  streams: number
}

export function createRequestLimits(
  options: Partial<LimitOptions> = {},
  now: () => number = () => performance.now(),
): RequestLimits {
  const limits = parseRequestLimits(options)
  const usages = new Map<string, Usage>()
  const usageOf = (name: string) => {
    const usage = usages.get(name) ?? { tokens: limits.burst, at: now(), requests: 0, streams: 0 }
    usages.set(name, usage)
    return usage
  }
  return {
    beginRequest(name) {
      const usage = usageOf(name)
      const time = now()
      usage.tokens = Math.min(limits.burst, usage.tokens + ((time - usage.at) / 1000) * limits.rate)
      usage.at = time
      if (usage.tokens < 1) throw tooMany(`more than ${limits.rate} requests per second`)
      usage.tokens -= 1
      if (usage.requests >= limits.concurrency) throw tooMany(`more than ${limits.concurrency} requests at once`)
      usage.requests += 1
      return once(() => {
        usage.requests -= 1
      })
    },
    openStream(principal) {
      const usage = usageOf(limitKey(principal))
      if (usage.streams >= limits.streams) throw tooMany(`more than ${limits.streams} open streams`)
      usage.streams += 1
      return once(() => {
        usage.streams -= 1
      })
    },
  }
}

/** Throws for an unknown name and for a value that would not limit anything. An undefined value is the default. */
function parseRequestLimits(options: Partial<LimitOptions>): LimitOptions {
  const known = Object.keys(DEFAULT_REQUEST_LIMITS)
  const given = definedFields(options)
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw unknownNameError('invalid_input', { kind: 'limit of `requests`', name: unknown, known })
  for (const [name, value] of Object.entries(given)) {
    if (Number.isFinite(value) && value > 0) continue
    throw new TroupeError('invalid_input', `\`requests\`: \`${name}\` is ${value}`, {
      hint: 'pass a positive number, or leave it out for the default',
      responsible: 'developer',
    })
  }
  return { ...DEFAULT_REQUEST_LIMITS, ...given }
}

/** Callers of different projects may have the same name. */
export function limitKey({ name, project = '' }: Principal): string {
  return JSON.stringify([project, name])
}

function tooMany(problem: string) {
  return refuse(429, { code: 'too_many_requests', message: problem, hint: 'try again in a second' })
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}
