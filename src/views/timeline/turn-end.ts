import type { Event } from '../../kernel/event.ts'
import type { TimelineState, TurnEntry } from './timeline-state.ts'
import { endSpan, markChanged } from './timeline-state.ts'

/** Ends a turn; one without a response is lost, unless it failed. */
export function endTurn(
  state: TimelineState,
  event: Event,
  { turn, ...how }: { turn: TurnEntry; status?: 'ok' | 'failed' | 'lost'; ended_at?: number },
): void {
  const { row, session } = turn
  if (row.ended_seq !== null) return
  row.status = how.status ?? (row.responded_seq === null ? 'lost' : 'ok')
  Object.assign(row, endSpan(state, event))
  // A process that died was not at work until its run was resumed.
  if (how.ended_at !== undefined) row.ended_at = Math.max(row.started_at, Math.min(how.ended_at, state.clock.now))
  markChanged(state, 'turns', row)
  state.open.turns.delete(turn)
  if (session.turn === turn) session.turn = undefined
}
