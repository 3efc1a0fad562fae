import type { EventDataOf, EventOf } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { NO_USAGE } from '../model.ts'
import type { ReservedBudget } from '../model-event.ts'
import type { RequestProgress } from '../request-progress.ts'
import type { PriceBook } from '../spend.ts'

/** More than the providers of large models produce; those of small, cheap ones may be faster. */
const OUTPUT_TOKENS_PER_SECOND = 1000
/** Counted on top of the time: a response that a server has ready arrives at once. */
const BURST_MS = 1000

/** Fewer than in any text that people read: how much output text can have cost. */
const MIN_CHARS_PER_TOKEN = 2

/** How far a request got, and the latest time at which its connection can have ended. */
export interface ConnectedTime {
  progress: RequestProgress
  to: number
}

/**
 * Settles requests that a crash left open, before the first new request: otherwise that request could reserve budget
 * which the lost ones may already have spent.
 */
export function settleLostModelCalls(
  execution: Execution,
  connectedTime: (begin: EventOf<'model:begin'>) => ConnectedTime,
): void {
  const { prices } = execution.ports
  for (const begin of execution.journalIndex.openModelCalls()) {
    const { data, session_id } = begin
    const { key, attempt } = data
    const reserved = chargeableBudget(data, { prices, ...connectedTime(begin) })
    const event = execution.journal.append('model:lost', { key, attempt, reserved, reason: 'crash' }, session_id)
    execution.journalIndex.add(event)
    execution.budget.recordEvent(event)
  }
}

/**
 * The most that a provider can have charged for a request without an outcome: nothing if nothing was sent, otherwise all input and the output
 * that it can have produced in that time.
 */
export function chargeableBudget(
  { model, reserved, max_output }: EventDataOf<'model:begin'>,
  { prices, progress, to }: ConnectedTime & { prices: PriceBook },
): ReservedBudget {
  const { sent_at } = progress
  if (sent_at === undefined) return { calls: reserved.calls, tokens: 0, usd: 0 }
  // The clock was set back: the time is unknown.
  if (max_output === undefined || to < sent_at) return reserved
  const output = producibleTokens(progress, { from: sent_at, to })
  if (output >= max_output) return reserved
  const input = reserved.tokens - max_output
  const usd = Math.min(reserved.usd, maxCost(prices, { model, input, output, time: sent_at }) ?? reserved.usd)
  return { calls: reserved.calls, tokens: input + output, usd }
}

/**
 * The output of the time that passed; if a part of the response arrived, that part and the output of the times before and after it.
 * Before it a model may have reasoned, which is charged and not sent.
 */
function producibleTokens(progress: RequestProgress, { from, to }: { from: number; to: number }): number {
  const tokensIn = (ms: number) => Math.ceil(((ms + BURST_MS) / 1000) * OUTPUT_TOKENS_PER_SECOND)
  const { received_at, last_received_at, received_chars } = progress
  if (received_at === undefined || last_received_at === undefined) return tokensIn(to - from)
  const unseen_ms = Math.max(0, received_at - from) + Math.max(0, to - last_received_at)
  return Math.min(tokensIn(to - from), tokensIn(unseen_ms) + Math.ceil(received_chars / MIN_CHARS_PER_TOKEN))
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
