import type { EventOf } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import { liveCall } from './call-rows.ts'
import { agentLanes } from './lane-rows.ts'
import { rowText, rowTitle } from './row-text.ts'
import type { TimelineGate } from './rows.ts'
import type { RunModel } from './run-model.ts'
import { addMessage, addRow, changeRow, endSpan, openSpan, rowId } from './run-model.ts'
import { liveSession, reviveSession, sessionOf } from './session-rows.ts'
import type { GateNode, SessionNode, ToolCallNode } from './step-tree.ts'
import { addNode, findEnclosing, nodeAt, parentStepKey } from './step-tree.ts'

export function reduceGateOpen(model: RunModel, event: EventOf<'gate:open'>): void {
  const { key, gate_id, question, choices = null, asked_by = null } = event.data
  // After a crash the same question is asked again.
  if (nodeAt(model, key, 'gate')?.row.ended_seq === null) return
  const call = gateCall(model, event)
  const session = liveSession(model, event)
  const lane = session?.row.lane ?? (asked_by === null ? undefined : agentLanes(model, asked_by).lanes[0]?.id)
  const { data } = event
  const row = addGateRow(model, { data, session, call, lane: lane ?? null })
  const facts = { kind: 'gate', key, gate_id, question, choices, asked_by, answer: null, answered_by: null } as const
  const rest = { started_at: row.started_at, ended_at: null, children: [], row, data, session, call }
  openGate(model, addNode(model, { ...facts, ...rest }))
  const ref = { kind: 'gate', id: row.id } as const
  addMessage(model, { from: row.lane, to: null, type: 'question', text: row.question, ref })
}

interface NewGate {
  data: Gate
  lane: string | null
  session: SessionNode | undefined
  call: ToolCallNode | undefined
}

function addGateRow(model: RunModel, { data, lane, session, call }: NewGate) {
  const { gate_id, question, choices = null, asked_by = null } = data
  const row: TimelineGate = {
    ...{
      id: rowId(model, 'gates', gate_id),
      gate_id,
      lane,
      session: session?.row.id ?? null,
      call: call?.row.id ?? null,
    },
    ...{ question: rowText(model, question), choices, asked_by, answer: null, answered_by: null },
    ...openSpan(model),
  }
  return addRow(model, 'gates', row)
}

/** A question that the end of the run closed is open again when the run is reopened. */
export function reopenGate(model: RunModel, gate: GateNode): void {
  gate.session = gate.session && reviveSession(model, gate.session)
  gate.call = gate.call && liveCall(model, gate.call.session, gate.call)
  gate.row = addGateRow(model, { ...gate, lane: gate.row.lane })
  openGate(model, gate)
}

const PERMISSION = /^(.*\/tool\/\d+)\/permission(?:\/\d+)?$/

/** The call that the question is about. Permission is asked for before the call begins. */
function gateCall(model: RunModel, event: EventOf<'gate:open'>): ToolCallNode | undefined {
  const { key, detail } = event.data
  const callKey = PERMISSION.exec(key)?.[1]
  if (callKey === undefined) return findEnclosing(model, parentStepKey(key), 'call')
  const { permission = '' } = (detail ?? {}) as { permission?: unknown }
  const [, tool = '', subject = ''] = /^([^(]*)(?:\((.*)\))?$/s.exec(String(permission)) ?? []
  const call = liveCall(model, sessionOf(model, event), { key: callKey, tool })
  if (call?.row.target === '') call.row.target = rowTitle(model, subject)
  return call
}

export function reduceGateAnswer(model: RunModel, { data, at }: EventOf<'gate:answer'>): void {
  const gate = nodeAt(model, data.key, 'gate')
  if (!gate) return
  Object.assign(gate, { answer: data.answer, answered_by: data.by, ended_at: at })
  const { row } = gate
  if (row.ended_seq !== null) return
  const answer = rowText(model, answerText(model, data.answer))
  Object.assign(row, { answer, answered_by: data.by })
  closeGate(model, gate)
  addMessage(model, { from: null, to: row.lane, type: 'answer', text: answer, ref: { kind: 'gate', id: row.id } })
}

function answerText({ sources: { words } }: RunModel, answer: unknown): string {
  // A steer action can answer a gate.
  if (typeof answer === 'object' && answer !== null && 'do' in answer) return words.steering(answer as SteerAction)
  return typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? '')
}

function openGate(model: RunModel, gate: GateNode): void {
  model.open.gates.add(gate)
  countGate(model, gate, 1)
}

/** Ends a gate, also one that nobody will answer. */
export function closeGate(model: RunModel, gate: GateNode): void {
  changeRow(model, gate.row, endSpan(model))
  model.open.gates.delete(gate)
  countGate(model, gate, -1)
}

/** A call and a session are waiting while a person is asked about them. */
function countGate(model: RunModel, { session, call }: GateNode, change: 1 | -1): void {
  model.run.open_gates = model.open.gates.size
  for (const each of [session, call]) {
    if (!each) continue
    each.openGates += change
    const status = each.openGates > 0 ? 'waiting' : 'running'
    if (each.row.ended_seq === null) changeRow<typeof each.row>(model, each.row, { status })
  }
}
