import { indexRange } from '../data/lane-columns.ts'
import type { TimelineStore } from '../data/timeline-store.ts'

/* Totals of a span of time: what Shift and drag shows. */

export interface SpanTotals {
  ms: number
  turns: number
  calls: number
  failed: number
  tokens: number
  usd: number
  /** A price is unknown. */
  partial: boolean
}

/** Calls count when they begin in the span; a turn counts, with its cost, when its response ends in it. */
export function spanTotals(store: TimelineStore, from: number, to: number): SpanTotals {
  const totals: SpanTotals = { ms: to - from, turns: 0, calls: 0, failed: 0, tokens: 0, usd: 0, partial: false }
  for (const { turns, calls } of store.lanes()) {
    const [firstCall, endCall] = indexRange(calls, from, to)
    for (const call of calls.rows.slice(firstCall, endCall)) {
      if (call.started_at < from) continue
      totals.calls += 1
      if (call.status === 'failed') totals.failed += 1
    }
    const [firstTurn, endTurn] = indexRange(turns, from, to)
    for (const turn of turns.rows.slice(firstTurn, endTurn)) {
      if (turn.responded_at === null || turn.responded_at < from || turn.responded_at > to) continue
      totals.turns += 1
      totals.tokens += turn.tokens.input + turn.tokens.output
      totals.usd += turn.usd ?? 0
      totals.partial ||= turn.usd === null
    }
  }
  return totals
}
