import type { EventOf } from '../kernel/event.ts'
import { rowText, rowTitle } from './row-text.ts'
import type { RunModel } from './run-model.ts'
import { addRow, changeRow, rowId } from './run-model.ts'
import { addReport, reviveSession, sessionOf } from './session-rows.ts'
import type { SessionNode, ToolCallNode } from './step-tree.ts'
import { addNode, nodeAt, parentStepKey } from './step-tree.ts'
import { endTurnCall } from './turn-rows.ts'

type ToolEvent = EventOf<'tool:pre'> | EventOf<'tool:post'> | EventOf<'tool:error'>

export function reduceToolEvent(model: RunModel, event: ToolEvent): void {
  const { key, tool, parallel_group_id } = event.data
  const call = liveCall(model, sessionOf(model, event), { key, tool })
  if (!call) return
  const { row } = call
  call.group = parallel_group_id ?? null
  if (event.type === 'tool:pre') {
    call.begun_seq ??= event.seq
    call.tool = tool
    const { category = null, kind = null } = event.data
    const target = rowTitle(model, model.sources.words.target(event.data, model.sources.redactor))
    changeRow(model, row, { tool, category, kind, target })
    return
  }
  addReport(model, call.session, event)
  const { files = [], deleted = [], agent } = event.data
  row.files = files.length + deleted.length
  if (row.target === '' && agent !== undefined) row.target = agent
  const isError = event.type === 'tool:error'
  call.status = isError ? 'failed' : 'ok'
  call.error = isError ? event.data.detail : null
  call.ended_at = event.at
  call.ended_seq = event.seq
  settleCallRow(model, call, isError ? event.data.error : null)
}

/** The call with this key, with a row that has not ended: a call that is tried again has a new one. */
export function liveCall(
  model: RunModel,
  owner: SessionNode | undefined,
  { key, tool }: { key: string; tool: string },
): ToolCallNode | undefined {
  const newest = nodeAt(model, key, 'call')
  // Another session with the same keys works anew.
  const known = owner && newest?.session.session_id !== owner.session_id ? undefined : newest
  if (known?.row.ended_seq === null) return known
  const opened = owner ?? known?.session
  if (!opened) return undefined
  const session = reviveSession(model, opened)
  const turn = model.index.turns.get(parentStepKey(parentStepKey(key)))
  model.run.calls += 1
  // No spread: of all rows, these are the most.
  const row = addRow(model, 'calls', {
    id: rowId(model, 'calls', key),
    turn: turn?.row.id ?? null,
    session: session.row.id,
    lane: session.row.lane,
    number: model.run.calls,
    tool,
    category: known?.row.category ?? null,
    kind: known?.row.kind ?? null,
    status: 'running',
    target: known?.row.target ?? '',
    error: null,
    files: 0,
    seq: model.clock.seq,
    ended_seq: null,
    started_at: model.clock.now,
    ended_at: null,
  })
  const begin = { row, session, turn, status: 'running' as const, error: null, ended_at: null, ended_seq: null }
  const call: ToolCallNode = known
    ? Object.assign(known, begin)
    : addNode(model, {
        kind: 'call',
        key,
        tool,
        started_at: row.started_at,
        children: [],
        begun_seq: null,
        group: null,
        openGates: 0,
        ...begin,
      })
  model.open.calls.add(call)
  return call
}

/** Ends the row of a call; `error` is `null` if it succeeded. */
export function settleCallRow(model: RunModel, call: ToolCallNode, error: string | null): void {
  const { row, turn } = call
  if (row.ended_seq !== null) return
  row.status = error === null ? 'ok' : 'failed'
  row.error = error === null ? null : rowText(model, error)
  row.ended_seq = model.clock.seq
  row.ended_at = model.clock.now
  changeRow(model, row)
  model.open.calls.delete(call)
  if (turn) endTurnCall(model, turn)
}
