import { activeTime, idleTimes } from './active-time.ts'
import { costMoment, paidTurns } from './cost-over-time.ts'
import type { TimelinePause, TimelineRun, TimelineTurn } from './timeline/timeline.ts'

/** The pace of a run, and the limit that it reaches first if it goes on like this. */
export interface CostProjection {
  /** Active time that the pace is measured over, up to the end of what is shown. */
  recent_ms: number
  /** Amounts of that time. */
  recent: { usd: number; tokens: number; requests: number }
  /** `null` without a limit, at no pace, and for a run that waits for a person or has ended. */
  limit: { name: 'cost' | 'tokens' | 'requests'; limit: number; left: number; in_ms: number } | null
}

const RECENT_MS = 180_000
/** A pace of less time, or of a single response, says nothing. */
const SHORTEST_PACE = 5_000
const FEWEST_TURNS = 2

interface ProjectionQuery {
  run: TimelineRun
  turns: readonly TimelineTurn[]
  pauses: readonly TimelinePause[]
  seq: number | null
  until: number
}

export function costProjection({ run, turns, pauses, seq, until }: ProjectionQuery): CostProjection {
  const paid = paidTurns(turns, { seq, inherited: run.forked_from?.inherited ?? 0 })
  const start = Math.min(...paid.map(({ started_at }) => started_at), until)
  const axis = { start, idle: idleTimes(pauses, { start, until, seq }) }
  const end = activeTime(axis, until)
  const recent_ms = Math.min(RECENT_MS, end)
  const latest = paid.filter((turn) => activeTime(axis, costMoment(turn)?.at ?? start) >= end - recent_ms)
  const recent = totals(latest)
  const isAtWork = seq === null && run.ended_seq === null && run.status !== 'waiting'
  const hasPace = isAtWork && recent_ms >= SHORTEST_PACE && latest.length >= FEWEST_TURNS
  if (!run.limits || !hasPace) return { recent_ms, recent, limit: null }
  const used = totals(paid)
  const reached = [
    toReach('cost', run.limits.usd, { used: used.usd, recent: recent.usd }),
    toReach('tokens', run.limits.tokens, { used: used.tokens, recent: recent.tokens }),
    toReach('requests', run.limits.calls, { used: run.requests, recent: recent.requests }),
  ].flatMap((each) => (each ? [{ ...each, in_ms: each.periods * recent_ms }] : []))
  const [first] = reached.toSorted((one, other) => one.in_ms - other.in_ms)
  if (!first) return { recent_ms, recent, limit: null }
  const { periods: _periods, ...limit } = first
  return { recent_ms, recent, limit }
}

function totals(turns: readonly TimelineTurn[]): CostProjection['recent'] {
  return turns.reduce(
    ({ usd, tokens, requests }, turn) => ({
      usd: usd + (turn.usd ?? 0),
      tokens: tokens + turn.tokens.input + turn.tokens.output,
      requests: requests + turn.attempts,
    }),
    { usd: 0, tokens: 0, requests: 0 },
  )
}

/** How many times the recent amount fits into what is left. */
function toReach(
  name: NonNullable<CostProjection['limit']>['name'],
  limit: number | null,
  { used, recent }: { used: number; recent: number },
) {
  if (limit === null || recent <= 0) return undefined
  const left = Math.max(0, limit - used)
  return { name, limit, left, periods: left / recent }
}
