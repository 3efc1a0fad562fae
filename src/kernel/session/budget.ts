import type { ErrorRecord } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'
import type { Event, ReservedBudget } from '../event.ts'
import type { Limits } from '../limits.ts'
import type { Charge, Spend } from './ledger.ts'
import { addSpend, chargeFrom, NO_SPEND, totalTokens } from './ledger.ts'

/*
 * Invariants
 * 1. Spent + reserved never exceeds a limit: a call reserves its upper bound before it is made and settles after it.
 * 2. While others hold reservations that may return something, a call that does not fit waits; it is refused only when
 *    nothing is outstanding. First come, first served.
 * 3. Spent is a fold over the journal, so a resumed run goes on with exactly what is left.
 */

/** What one call may cost in dollars at the most; `undefined` when the price is not known. */
export type PriceBound = (input: number, output: number) => number | undefined

export interface ReservationRequest {
  /** An upper bound of the input tokens. */
  input: number
  /** The most output tokens the caller could use. */
  output: number
  price?: PriceBound
}

export interface Reservation {
  reserved: ReservedBudget
  /** The output cap this call was granted. */
  output: number
}

interface Waiter {
  want: ReservationRequest
  admit(reservation: Reservation): void
  refuse(error: TroupeError): void
}

/** An answer shorter than this helps nobody: rather wait or refuse. */
const MIN_OUTPUT_TOKENS = 16

export class Budget {
  spent: Spend = NO_SPEND
  readonly limits: Limits
  readonly #charges: Charge[] = []
  readonly #reserved: ReservedBudget = { calls: 0, tokens: 0, usd: 0 }
  readonly #queue: {
    want: ReservationRequest
    admit: (reservation: Reservation) => void
    refuse: (error: TroupeError) => void
  }[] = []

  constructor(limits: Limits) {
    this.limits = limits
  }

  /** Counts what the journal says was spent. */
  recordEvent(event: Event): void {
    const before = this.spent
    this.spent = addSpend(before, event)
    if (this.spent !== before) this.#charges.push(chargeFrom(event))
  }

  /** What everything under a key came to. */
  spentUnder(path: string): Spend {
    if (path === '') return this.spent
    return this.#charges.reduce(
      (sum, bill) => (bill.data.key.startsWith(`${path}/`) ? addSpend(sum, bill) : sum),
      NO_SPEND,
    )
  }

  /** Sets the bound of a call aside: at once, or when others have settled. An abort gives the place in the queue up. */
  reserve(want: ReservationRequest, signal?: AbortSignal): Reservation | Promise<Reservation> {
    if (this.#queue.length === 0) {
      const now = this.#tryReserve(want)
      if ('output' in now) return now
      if (!now.wait) throw now.error
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1)
        reject(signal?.reason)
      }
      const arrived = () => signal?.removeEventListener('abort', leave)
      const waiter: Waiter = {
        want,
        admit: (reservation) => {
          arrived()
          resolve(reservation)
        },
        refuse: (error) => {
          arrived()
          reject(error)
        },
      }
      this.#queue.push(waiter)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  /** Gives the reservation back; `event` is what the journal wrote about the call. */
  settle(reservation: Reservation, event?: Event): void {
    this.#reserved.calls -= reservation.reserved.calls
    this.#reserved.tokens -= reservation.reserved.tokens
    this.#reserved.usd -= reservation.reserved.usd
    if (event) this.recordEvent(event)
    while (this.#queue[0]) {
      const { want, admit, refuse } = this.#queue[0]
      const now = this.#tryReserve(want)
      if (!('output' in now) && now.wait) return
      this.#queue.shift()
      if ('output' in now) admit(now)
      else refuse(now.error)
    }
  }

  #tryReserve(want: ReservationRequest): Reservation | { wait: boolean; error: TroupeError } {
    const { limits, spent } = this
    const outstanding = this.#reserved.calls > 0
    const calls = spent.calls + spent.lost.calls
    if (this.#reserved.calls >= limits.concurrency) return { wait: true, error: limitError('concurrency', 0, 0) }
    if (limits.calls !== null && calls + this.#reserved.calls + 1 > limits.calls) {
      return { wait: outstanding, error: limitError('calls', calls, limits.calls) }
    }
    let output = Math.min(want.output, limits.output)
    if (limits.tokens !== null) {
      const tokens = totalTokens(spent) + spent.lost.tokens
      const left = limits.tokens - tokens - this.#reserved.tokens - want.input
      if (left < Math.min(MIN_OUTPUT_TOKENS, output)) {
        return { wait: outstanding, error: limitError('tokens', tokens, limits.tokens) }
      }
      output = Math.min(output, left)
    }
    if (limits.usd !== null && want.price) {
      const paid = spent.known_usd + spent.lost.usd
      const affordable = affordableOutput(want.price, want.input, output, limits.usd - paid - this.#reserved.usd)
      if (affordable < Math.min(MIN_OUTPUT_TOKENS, output)) {
        return { wait: outstanding, error: limitError('usd', paid, limits.usd) }
      }
      output = affordable
    }
    const usd = want.price?.(want.input, output) ?? 0
    const reserved = { calls: 1, tokens: want.input + output, usd }
    this.#reserved.calls += 1
    this.#reserved.tokens += reserved.tokens
    this.#reserved.usd += usd
    return { reserved, output }
  }
}

/** The most output that this money buys, up to `output`; 0 when it buys none. A price that nobody knows buys all. */
function affordableOutput(price: PriceBound, input: number, output: number, money: number): number {
  const fits = (tokens: number) => {
    const cost = price(input, tokens) ?? 0
    return cost === 0 || cost <= money
  }
  if (fits(output)) return output
  let [enough, tooMuch] = [0, output]
  while (tooMuch - enough > 1) {
    const middle = Math.floor((enough + tooMuch) / 2)
    if (fits(middle)) enough = middle
    else tooMuch = middle
  }
  return enough
}

const LIMIT_UNITS: Partial<Record<keyof Limits, string>> = {
  calls: 'model calls',
  tokens: 'tokens',
  usd: 'US dollars',
  wall_ms: 'milliseconds of working time',
  breadth: 'sub-sessions of one session',
}

/** A limit that fired: which one, how far it got, and how to go on. What was done is kept in the journal. */
export function limitError(limit: keyof Limits, used: number, max: number): TroupeError {
  const what = LIMIT_UNITS[limit] ?? limit
  return new TroupeError(
    'limit_reached',
    `the limit of ${max} ${what} is reached: ${used} used, the next does not fit`,
    {
      hint: `what was done is kept; go on with a higher limit: troupe resume RUN --limit ${limit}=${Math.max(max * 2, 1)}`,
      alternatives: [limit],
    },
  )
}

/** Which limit an error of `limitError` is about. */
export function limitFromError(error: Pick<ErrorRecord, 'alternatives'>): keyof Limits {
  return (error.alternatives[0] ?? 'calls') as keyof Limits
}
