import type { ErrorRecord } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'
import type { Event, StopReason } from '../event.ts'
import type { Limits } from '../limits.ts'
import type { ReservedBudget } from '../model-event.ts'
import type { Charge, Spend } from '../spend.ts'
import { addSpend, chargeFrom, NO_SPEND, sumUsd, totalTokens } from '../spend.ts'

/*
 * The budget of a run: a counting semaphore over calls, tokens and dollars.
 * 1. Spent + reserved never exceeds a limit: a model request reserves its upper bound first and settles afterwards.
 * 2. A request that does not fit waits while other reservations are outstanding, first come, first served. It is rejected
 *    only when nothing is outstanding.
 * 3. Spent is a fold over the journal, so a resumed run continues with exactly the rest.
 */

/** Upper bound of a call's cost in US dollars; `undefined` if the price is unknown. */
export type PriceBound = (input: number, output: number) => number | undefined

export interface ReservationRequest {
  /** Upper bound of the input tokens. */
  input: number
  /** Output tokens wanted. */
  output: number
  price?: PriceBound
}

export interface Reservation {
  reserved: ReservedBudget
  /** Output tokens granted: the cap for this call. */
  output: number
}

export interface ReachedLimit {
  limit: 'calls' | 'tokens' | 'usd'
  used: number
  max: number
}

interface Waiter {
  request: ReservationRequest
  grant(reservation: Reservation): void
  refuse(error: TroupeError): void
}

/** A shorter response is useless: wait or reject instead. */
const MIN_OUTPUT_TOKENS = 16

export class Budget {
  spent: Spend = NO_SPEND
  readonly limits: Limits
  readonly #charges: Charge[] = []
  readonly #reserved: ReservedBudget = { calls: 0, tokens: 0, usd: 0 }
  readonly #queue: Waiter[] = []

  constructor(limits: Limits) {
    this.limits = limits
  }

  recordEvent(event: Event): void {
    const before = this.spent
    this.spent = addSpend(before, event)
    if (this.spent !== before) this.#charges.push(chargeFrom(event))
  }

  /** Spend of all model requests under a step key. */
  spentUnder(path: string): Spend {
    if (path === '') return this.spent
    return this.#charges.reduce(
      (sum, charge) => (charge.data.key.startsWith(`${path}/`) ? addSpend(sum, charge) : sum),
      NO_SPEND,
    )
  }

  /** Reserves the upper bound of a call: at once, or when others have settled. An abort leaves the queue. */
  reserve(request: ReservationRequest, signal?: AbortSignal): Reservation | Promise<Reservation> {
    if (this.#queue.length === 0) {
      const attempt = this.#tryReserve(request)
      if ('output' in attempt) return attempt
      if (!attempt.wait) throw attempt.error
    }
    return new Promise((resolve, reject) => {
      const leaveQueue = () => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1)
        reject(signal?.reason)
      }
      const removeListener = () => signal?.removeEventListener('abort', leaveQueue)
      const waiter: Waiter = {
        request,
        grant: (reservation) => {
          removeListener()
          resolve(reservation)
        },
        refuse: (error) => {
          removeListener()
          reject(error)
        },
      }
      this.#queue.push(waiter)
      signal?.addEventListener('abort', leaveQueue, { once: true })
    })
  }

  /** Returns a reservation; `event` is the journal's record of the call. */
  settle(reservation: Reservation, event?: Event): void {
    this.#reserved.calls -= reservation.reserved.calls
    this.#reserved.tokens -= reservation.reserved.tokens
    this.#reserved.usd = sumUsd(this.#reserved.usd, -reservation.reserved.usd)
    if (event) this.recordEvent(event)
    while (this.#queue[0]) {
      const { request, grant, refuse } = this.#queue[0]
      const attempt = this.#tryReserve(request)
      if (!('output' in attempt) && attempt.wait) return
      this.#queue.shift()
      if ('output' in attempt) grant(attempt)
      else refuse(attempt.error)
    }
  }

  /** The limit that is used up, if any. Usage that was reported without a reservation may even exceed it. */
  reachedLimit(): ReachedLimit | undefined {
    const used = this.#used()
    for (const limit of ['calls', 'tokens', 'usd'] as const) {
      const max = this.limits[limit]
      if (max !== null && used[limit] >= max) return { limit, used: used[limit], max }
    }
    return undefined
  }

  /** With the requests that were lost. */
  #used(): ReservedBudget {
    const { spent } = this
    return {
      calls: spent.calls + spent.lost.calls,
      tokens: totalTokens(spent) + spent.lost.tokens,
      usd: sumUsd(spent.known_usd, spent.lost.usd),
    }
  }

  #tryReserve(request: ReservationRequest): Reservation | { wait: boolean; error: TroupeError } {
    const { limits } = this
    const used = this.#used()
    const outstanding = this.#reserved.calls > 0
    if (this.#reserved.calls >= limits.concurrency) return { wait: true, error: limitError('concurrency', 0, 0) }
    if (limits.calls !== null && used.calls + this.#reserved.calls + 1 > limits.calls) {
      return { wait: outstanding, error: limitError('calls', used.calls, limits.calls) }
    }
    let output = Math.min(request.output, limits.output)
    if (limits.tokens !== null) {
      const remaining = limits.tokens - used.tokens - this.#reserved.tokens - request.input
      if (remaining < Math.min(MIN_OUTPUT_TOKENS, output)) {
        return { wait: outstanding, error: limitError('tokens', used.tokens, limits.tokens) }
      }
      output = Math.min(output, remaining)
    }
    if (limits.usd !== null && request.price) {
      const usd = limits.usd - used.usd - this.#reserved.usd
      const affordable = affordableOutput(request.price, { input: request.input, output, usd })
      if (affordable < Math.min(MIN_OUTPUT_TOKENS, output)) {
        return { wait: outstanding, error: limitError('usd', used.usd, limits.usd) }
      }
      output = affordable
    }
    const usd = request.price?.(request.input, output) ?? 0
    const reserved = { calls: 1, tokens: request.input + output, usd }
    this.#reserved.calls += 1
    this.#reserved.tokens += reserved.tokens
    this.#reserved.usd = sumUsd(this.#reserved.usd, usd)
    return { reserved, output }
  }
}

/** The largest output, up to `output`, whose price fits into `usd`; 0 if none. An unknown price always fits. */
function affordableOutput(
  price: PriceBound,
  { input, output, usd }: { input: number; output: number; usd: number },
): number {
  const fits = (tokens: number) => {
    const cost = price(input, tokens) ?? 0
    return cost === 0 || cost <= usd
  }
  if (fits(output)) return output
  let [low, high] = [0, output]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

const LIMIT_UNITS: Partial<Record<keyof Limits, string>> = {
  calls: 'model requests',
  tokens: 'tokens',
  usd: 'US dollars',
  wall_ms: 'milliseconds of working time',
  breadth: 'sub-sessions of one session',
}

/** The error of a limit that is reached: which one, how much is used, and how to raise it. */
export function limitError(limit: keyof Limits, used: number, max: number): TroupeError {
  const unit = LIMIT_UNITS[limit] ?? limit
  return new TroupeError(
    'limit_reached',
    `limit \`${limit}\` reached: ${used} of ${max} ${unit} used, the next does not fit`,
    {
      hint: `work so far is kept; raise the limit to continue: troupe resume RUN --limit ${limit}=${Math.max(max * 2, 1)}`,
      alternatives: [limit],
    },
  )
}

/** How a run or a session ends with this error: only an exhausted budget is `budget`, working time is `timeout`. */
export function stopReasonFrom(error: Pick<ErrorRecord, 'code' | 'alternatives'>): StopReason {
  if (error.code === 'cancelled' || error.code === 'timeout') return error.code
  if (error.code !== 'limit_reached') return 'failed'
  return limitFromError(error) === 'wall_ms' ? 'timeout' : 'budget'
}

/** The limit that a `limit_reached` error names. */
export function limitFromError(error: Pick<ErrorRecord, 'alternatives'>): keyof Limits {
  return (error.alternatives[0] ?? 'calls') as keyof Limits
}
