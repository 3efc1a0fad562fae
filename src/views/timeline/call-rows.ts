import type { Event, EventOf, ToolPre } from '../../kernel/event.ts'
import { parentStepKey } from '../run-reducer.ts'
import { toolTarget } from '../tool-input.ts'
import { rowText, rowTitle } from './row-text.ts'
import { liveSession, reviveSession } from './session-rows.ts'
import type { TimelineCall } from './timeline.ts'
import type { CallEntry, TimelineState } from './timeline-state.ts'
import { addRow, markChanged, rowId } from './timeline-state.ts'
import { endTurnCall } from './turn-rows.ts'

type ToolEvent = EventOf<'tool:pre'> | EventOf<'tool:post'> | EventOf<'tool:error'>

export function reduceToolEvent(state: TimelineState, event: ToolEvent): void {
  const { key, tool, parallel_group_id } = event.data
  const call = liveCall(state, event, { key, tool })
  if (!call) return
  call.group = parallel_group_id ?? null
  if (event.type === 'tool:pre') {
    describeCall(state, call, event.data)
    return
  }
  const { files = [], deleted = [] } = event.data
  call.row.files = files.length + deleted.length
  if (call.row.target === '' && event.data.agent !== undefined) call.row.target = event.data.agent
  const error = event.type === 'tool:error' ? event.data.error : null
  endCall(state, event, { call, error })
}

/** The call with this key, with a row that has not ended: a call that is tried again has a new one. */
export function liveCall(
  state: TimelineState,
  event: Event,
  { key, tool }: { key: string; tool: string },
): CallEntry | undefined {
  const known = state.index.calls.get(key)
  if (known?.row.ended_seq === null) return known
  const session = liveSession(state, event) ?? (known && reviveSession(state, event, known.session))
  if (!session) return undefined
  const turn = state.index.turns.get(parentStepKey(parentStepKey(key)))
  state.run.calls += 1
  // No spread: of all rows, these are the most.
  const row: TimelineCall = {
    id: known ? rowId(state, 'calls', key) : key,
    turn: turn?.row.id ?? null,
    session: session.row.id,
    lane: session.row.lane,
    number: state.run.calls,
    tool,
    category: known?.row.category ?? null,
    kind: known?.row.kind ?? null,
    status: 'running',
    target: known?.row.target ?? '',
    error: null,
    files: 0,
    seq: event.seq,
    ended_seq: null,
    started_at: state.clock.now,
    ended_at: null,
  }
  const entry: CallEntry = { row, key, session, turn, group: known?.group ?? null, openGates: 0 }
  state.index.calls.set(key, entry)
  state.open.calls.add(entry)
  addRow(state, 'calls', row)
  return entry
}

function describeCall(state: TimelineState, { row }: CallEntry, data: ToolPre): void {
  row.tool = data.tool
  row.category = data.category ?? null
  row.kind = data.kind ?? null
  row.target = rowTitle(state, toolTarget(data, state.sources.redactor))
  markChanged(state, 'calls', row)
}

/** Ends a call; `error` is `null` if it succeeded. */
export function endCall(
  state: TimelineState,
  event: Event,
  { call, error }: { call: CallEntry; error: string | null },
): void {
  const { row, turn } = call
  if (row.ended_seq !== null) return
  row.status = error === null ? 'ok' : 'failed'
  row.error = error === null ? null : rowText(state, error)
  row.ended_seq = event.seq
  row.ended_at = state.clock.now
  markChanged(state, 'calls', row)
  state.open.calls.delete(call)
  if (turn) endTurnCall(state, event, turn)
}

/** A call is waiting while a person is asked about it. */
export function countCallGates(state: TimelineState, entry: CallEntry, change: 1 | -1): void {
  entry.openGates += change
  if (entry.row.ended_seq !== null) return
  entry.row.status = entry.openGates > 0 ? 'waiting' : 'running'
  markChanged(state, 'calls', entry.row)
}
