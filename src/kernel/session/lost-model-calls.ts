import type { EventDataOf, ReservedBudget } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { NO_USAGE } from '../model.ts'
import type { PriceBook } from '../price.ts'

/** More than the providers of large models produce; those of small, cheap ones may be faster. */
const OUTPUT_TOKENS_PER_SECOND = 1000
/** Counted on top of the time: a response that a server has ready arrives at once. */
const BURST_MS = 1000

/**
 * Settles requests that a crash left open, before the first new request: otherwise that request could reserve budget
 * which the lost ones may already have spent. `diedBy` is the latest time at which the process that sent them can have ended.
 */
export function settleLostModelCalls(execution: Execution, diedBy: number): void {
  const { prices } = execution.ports
  for (const { data, at, session_id } of execution.journalIndex.openModelCalls()) {
    const { key, attempt } = data
    const reserved = chargeableBudget(data, { prices, from: at, to: diedBy })
    const event = execution.journal.append('model:lost', { key, attempt, reserved, reason: 'crash' }, session_id)
    execution.journalIndex.add(event)
    execution.budget.recordEvent(event)
  }
}

export interface ConnectedTime {
  prices: PriceBook
  /** When the request was sent, and when the connection ended at the latest. */
  from: number
  to: number
}

/** What a provider can have charged for a request without an outcome: all input, and the output that it can have produced in that time. */
export function chargeableBudget(
  { model, reserved, max_output }: EventDataOf<'model:begin'>,
  { prices, from, to }: ConnectedTime,
): ReservedBudget {
  // The clock was set back: the time is unknown.
  if (max_output === undefined || to < from) return reserved
  const producible = Math.ceil(((to - from + BURST_MS) / 1000) * OUTPUT_TOKENS_PER_SECOND)
  if (producible >= max_output) return reserved
  const input = reserved.tokens - max_output
  const usd = Math.min(reserved.usd, maxCost(prices, { model, input, output: producible, time: from }) ?? reserved.usd)
  return { calls: reserved.calls, tokens: input + producible, usd }
}

/** The upper bound of the price: input may also be written to the provider's cache, which costs more than reading it. */
export function maxCost(
  prices: PriceBook,
  { model, input, output, time }: { model: string; input: number; output: number; time: number },
): number | undefined {
  const uncached = prices.cost(model, { ...NO_USAGE, input, output }, time)
  const cacheWrite = prices.cost(model, { ...NO_USAGE, input, output, cache_write: input }, time)
  return uncached === undefined ? undefined : Math.max(uncached, cacheWrite ?? 0)
}
