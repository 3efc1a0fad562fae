import type { Event, EventOf } from '../../kernel/event.ts'
import type { Gate } from '../../kernel/gate.ts'
import type { SteerAction } from '../../kernel/steer-action.ts'
import { formatSteerAction } from '../steer-text.ts'
import { countCallGates, liveCall } from './call-rows.ts'
import { agentLanes } from './lane-rows.ts'
import { rowText, rowTitle } from './row-text.ts'
import { enclosingCall, enclosingSession, liveSession, reviveSession } from './session-rows.ts'
import type { TimelineGate } from './timeline.ts'
import type { CallEntry, GateEntry, SessionEntry, TimelineState } from './timeline-state.ts'
import { addMessage, addRow, endSpan, firstRowId, markChanged, openSpan } from './timeline-state.ts'

export function reduceGateOpen(state: TimelineState, event: EventOf<'gate:open'>): void {
  const { key, asked_by } = event.data
  // After a crash the same question is asked again.
  if (state.index.gates.get(key)?.row.ended_seq === null) return
  const call = gateCall(state, event)
  const session = liveSession(state, event) ?? enclosingSession(state, key)
  const lane = session?.row.lane ?? (asked_by === undefined ? undefined : agentLanes(state, asked_by).lanes[0]?.id)
  const row = addGate(state, event, { data: event.data, session, call, lane: lane ?? null })
  const ref = { kind: 'gate', id: row.id } as const
  addMessage(state, event, { from: row.lane, to: null, type: 'question', text: row.question, ref })
}

interface NewGate {
  data: Gate
  lane: string | null
  session: SessionEntry | undefined
  call: CallEntry | undefined
}

function addGate(state: TimelineState, event: Event, { data, lane, session, call }: NewGate): TimelineGate {
  const row: TimelineGate = {
    id: firstRowId(state, 'gates', data.gate_id),
    gate_id: data.gate_id,
    lane,
    session: session?.row.id ?? null,
    call: call?.row.id ?? null,
    question: rowText(state, data.question),
    choices: data.choices ?? null,
    asked_by: data.asked_by ?? null,
    answer: null,
    answered_by: null,
    ...openSpan(state, event),
  }
  const entry: GateEntry = { row, data, session, call }
  state.index.gates.set(data.key, entry)
  state.open.gates.add(entry)
  state.run.open_gates = state.open.gates.size
  addRow(state, 'gates', row)
  if (call) countCallGates(state, call, 1)
  if (session) countSessionGates(state, session, 1)
  return row
}

/** A question that the end of the run closed is open again when the run is reopened. */
export function reopenGate(state: TimelineState, event: Event, { row, data, session, call }: GateEntry): void {
  const asking = session && reviveSession(state, event, session)
  const waiting = call && liveCall(state, event, { key: call.key, tool: call.row.tool })
  addGate(state, event, { data, lane: row.lane, session: asking, call: waiting })
}

const PERMISSION = /^(.*\/tool\/\d+)\/permission(?:\/\d+)?$/

/** The call that the question is about. Permission is asked for before the call begins. */
function gateCall(state: TimelineState, event: EventOf<'gate:open'>): CallEntry | undefined {
  const { key, detail } = event.data
  const callKey = PERMISSION.exec(key)?.[1]
  if (callKey === undefined) return enclosingCall(state, key)
  const { permission = '' } = (detail ?? {}) as { permission?: unknown }
  const [, tool = '', subject = ''] = /^([^(]*)(?:\((.*)\))?$/s.exec(String(permission)) ?? []
  const call = liveCall(state, event, { key: callKey, tool })
  if (call?.row.target === '') call.row.target = rowTitle(state, subject)
  return call
}

export function reduceGateAnswer(state: TimelineState, event: EventOf<'gate:answer'>): void {
  const { key, answer, by } = event.data
  const entry = state.index.gates.get(key)
  if (!entry || entry.row.ended_seq !== null) return
  const { row } = entry
  row.answer = rowText(state, answerText(answer))
  row.answered_by = by
  closeGate(state, event, entry)
  addMessage(state, event, {
    from: null,
    to: row.lane,
    type: 'answer',
    text: row.answer,
    ref: { kind: 'gate', id: row.id },
  })
}

function answerText(answer: unknown): string {
  // A steer action can answer a gate.
  if (typeof answer === 'object' && answer !== null && 'do' in answer) return formatSteerAction(answer as SteerAction)
  return typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? '')
}

/** Ends a gate, also one that nobody will answer. */
export function closeGate(state: TimelineState, event: Event, entry: GateEntry): void {
  Object.assign(entry.row, endSpan(state, event))
  markChanged(state, 'gates', entry.row)
  state.open.gates.delete(entry)
  state.run.open_gates = state.open.gates.size
  if (entry.call) countCallGates(state, entry.call, -1)
  if (entry.session) countSessionGates(state, entry.session, -1)
}

function countSessionGates(state: TimelineState, entry: SessionEntry, change: 1 | -1): void {
  entry.counts.openGates += change
  if (entry.row.ended_seq !== null) return
  entry.row.status = entry.counts.openGates > 0 ? 'waiting' : 'running'
  markChanged(state, 'sessions', entry.row)
}
