import type { Event, EventOf } from './event.ts'
import type { Usage } from './model.ts'
import { addUsage, NO_USAGE } from './model.ts'
import type { ReservedBudget } from './model-event.ts'

/** Usage and cost folded from a journal. Calls lost to a crash or an abort count at their reservation. */
export interface Spend extends Usage {
  calls: number
  /** `null` if the price of any call is unknown. */
  usd: number | null
  /** Sum of the known prices; `limits.usd` counts this. */
  known_usd: number
  /** True if a provider reported no usage for some call, which then counts at its reservation. */
  estimated: boolean
  lost: { calls: number; tokens: number; usd: number }
}

export const NO_SPEND: Spend = Object.freeze({
  ...NO_USAGE,
  calls: 0,
  usd: 0,
  known_usd: 0,
  estimated: false,
  lost: Object.freeze({ calls: 0, tokens: 0, usd: 0 }),
})

/** The usage and cost of a model event, without its message. */
export type Charge =
  | { type: 'model:end' | 'model:error'; data: { key: string; usage: Usage; usd: number | null; estimated?: true } }
  | { type: 'model:lost'; data: { key: string; reserved: ReservedBudget } }

export function chargeFrom(event: Event): Charge {
  if (event.type === 'model:lost') return { type: event.type, data: event.data }
  const { key, usage, usd, estimated } = (event as EventOf<'model:end'>).data
  return { type: 'model:end', data: { key, usage, usd, ...(estimated ? { estimated } : undefined) } }
}

/** Returns the same object if the event has no cost. */
export function addSpend(spend: Spend, event: Event | Charge): Spend {
  switch (event.type) {
    case 'model:end':
    case 'model:error': {
      const { usage, usd, estimated } = event.data
      return {
        ...addUsage(spend, usage),
        calls: spend.calls + 1,
        usd: spend.usd === null || usd === null ? null : sumUsd(spend.usd, usd),
        known_usd: sumUsd(spend.known_usd, usd ?? 0),
        estimated: spend.estimated || estimated === true,
        lost: spend.lost,
      }
    }
    case 'model:lost': {
      const { reserved } = event.data
      const { lost } = spend
      return {
        ...spend,
        lost: { calls: lost.calls + 1, tokens: lost.tokens + reserved.tokens, usd: sumUsd(lost.usd, reserved.usd) },
      }
    }
    default:
      return spend
  }
}

/** A trillionth of a dollar: far below the price of a token, and far above the error of floating-point sums. */
const USD_STEPS = 1e12

/** The sum of amounts without the noise of floating-point numbers: 0.003 three times is 0.009, not 0.009000000000000001. */
export function sumUsd(...amounts: readonly number[]): number {
  return Math.round(amounts.reduce((sum, amount) => sum + amount, 0) * USD_STEPS) / USD_STEPS
}

export function totalTokens(usage: Usage): number {
  return usage.input + usage.output
}

/** Prices of model requests. `undefined` means an unknown price, not a free call. */
export interface PriceBook {
  cost(model: string, usage: Usage, time: number): number | undefined
}

export const NO_PRICES: PriceBook = { cost: () => undefined }

/** The entry that a price file lacks for a model; its amounts are left to fill in. */
export function missingPriceEntry(model: string): string {
  return `{"model": ${JSON.stringify(model)}, "usd_per_million": {"input": USD, "output": USD}}`
}
