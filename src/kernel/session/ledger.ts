import type { Event, EventOf, ReservedBudget } from '../event.ts'
import type { Usage } from '../model.ts'
import { addUsage, NO_USAGE } from '../model.ts'

/** Spend folded from a journal: calls that ended, and what was lost with a crash or an abort, at its reservation. */
export interface Spend extends Usage {
  calls: number
  /** `null` when a price is unknown: never 0 for want of knowledge. */
  usd: number | null
  /** What is known to have been spent, whatever else is not: what the dollar limit counts. */
  known_usd: number
  /** True when some call's usage never arrived and stands here at its reservation. */
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

/** What an event says of money, without the words that were paid for. */
export type Charge =
  | { type: 'model:end' | 'model:error'; data: { key: string; usage: Usage; usd: number | null; estimated?: true } }
  | { type: 'model:lost'; data: { key: string; reserved: ReservedBudget } }

export function chargeFrom(event: Event): Charge {
  if (event.type === 'model:lost') return { type: event.type, data: event.data }
  const { key, usage, usd, estimated } = (event as EventOf<'model:end'>).data
  return { type: 'model:end', data: { key, usage, usd, ...(estimated ? { estimated } : undefined) } }
}

/** The spend after this event; the same object when the event spends nothing. */
export function addSpend(before: Spend, event: Event | Charge): Spend {
  switch (event.type) {
    case 'model:end':
    case 'model:error': {
      const { usage, usd, estimated } = event.data
      return {
        ...addUsage(before, usage),
        calls: before.calls + 1,
        usd: before.usd === null || usd === null ? null : before.usd + usd,
        known_usd: before.known_usd + (usd ?? 0),
        estimated: before.estimated || estimated === true,
        lost: before.lost,
      }
    }
    case 'model:lost': {
      const { reserved } = event.data
      const { lost } = before
      return {
        ...before,
        lost: { calls: lost.calls + 1, tokens: lost.tokens + reserved.tokens, usd: lost.usd + reserved.usd },
      }
    }
    default:
      return before
  }
}

export function totalTokens(usage: Usage): number {
  return usage.input + usage.output
}
