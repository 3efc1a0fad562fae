import type { Event, EventOf, PatternEventType, SessionEnd, ToolPre } from '../kernel/event.ts'
import { isPatternEvent, parentStepKey } from './run-reducer.ts'
import type { LoadedView } from './run-view.ts'

/*
 * Reduces a journal to lanes over time (a swimlane diagram): one lane per agent with its sessions, turns, tool calls and
 * gates, and arrows for delegations and handoffs. Each event costs the same, however long the journal is.
 */

/** A bar on the time axis; `ended_at` is `null` while it grows. */
interface Span {
  started_at: number
  ended_at: number | null
}

export interface LaneSession extends Span {
  session_id: string
  key: string
  segment: number
  status: 'running' | SessionEnd['status']
}

/** A model request with its tool calls. */
export interface LaneTurn extends Span {
  key: string
  session_id: string
  model: string
  /** `lost` after a crash or an abort. A turn whose request is tried again is running. */
  status: 'running' | 'ok' | 'failed' | 'lost'
  attempts: number
  tokens: number
  /** Tool calls that have begun and not ended. */
  running_calls: number
}

export interface LaneCall extends Span {
  key: string
  session_id: string
  tool: string
  /** `null` if the call failed before it began. */
  category: ToolPre['category'] | null
  kind: ToolPre['kind'] | null
  status: 'running' | 'ok' | 'failed'
}

export interface LaneGate extends Span {
  gate_id: string
  key: string
  question: string
  answered_by: string | null
}

export interface Lane {
  agent: string
  sessions: LaneSession[]
  turns: LaneTurn[]
  calls: LaneCall[]
  gates: LaneGate[]
}

/** From one lane to another; `null` is the run itself. */
export interface LaneArrow {
  kind: 'delegation' | 'handoff'
  from: string | null
  to: string | null
  at: number
  /** The end of the delegated session; `null` for handoffs and while it works. */
  returned_at: number | null
}

export interface Lanes extends Span {
  run_id: string
  /** In the order in which the agents began. */
  lanes: Lane[]
  arrows: LaneArrow[]
  /** Questions that no agent asks. */
  gates: LaneGate[]
  /** Times in which the run waited for a person. */
  pauses: Span[]
}

/** Lanes with the indexes that updating them needs. */
export interface LanesState {
  view: Lanes
  readonly views: readonly LoadedView[]
  readonly byAgent: Map<string, Lane>
  readonly sessions: Map<string, { lane: Lane; session: LaneSession; arrow: LaneArrow | undefined }>
  readonly turns: Map<string, LaneTurn>
  readonly calls: Map<string, LaneCall>
  readonly gatesByKey: Map<string, LaneGate>
}

/** `views` are those of the patterns that this process knows; they tell handoffs. */
export function newLanes(views: readonly LoadedView[] = []): LanesState {
  return {
    view: { run_id: '', started_at: 0, ended_at: null, lanes: [], arrows: [], gates: [], pauses: [] },
    views: views.filter(({ view }) => view.handoff),
    byAgent: new Map(),
    sessions: new Map(),
    turns: new Map(),
    calls: new Map(),
    gatesByKey: new Map(),
  }
}

/** A journal as lanes over time, one per agent. With `loadPatternViews(await troupe.patterns())`, handoffs are arrows, too. */
export function lanesFrom(events: Iterable<Event>, views: readonly LoadedView[] = []): Lanes {
  const state = newLanes(views)
  for (const event of events) reduceLanes(state, event)
  return state.view
}

/** Updates the lanes in place with one event. */
export function reduceLanes(state: LanesState, event: Event): void {
  switch (event.type) {
    case 'session:open':
      openSession(state, event)
      return
    case 'session:end':
      endSession(state, event)
      return
    case 'model:begin':
    case 'model:end':
    case 'model:error':
    case 'model:lost':
      reduceModelEvent(state, event)
      return
    case 'tool:pre':
    case 'tool:post':
    case 'tool:error':
      reduceToolEvent(state, event)
      return
    case 'gate:open':
      openGate(state, event)
      return
    case 'gate:answer': {
      const gate = state.gatesByKey.get(event.data.key)
      if (gate) Object.assign(gate, { ended_at: event.at, answered_by: event.data.by })
      return
    }
    default:
      if (isPatternEvent(event)) addHandoff(state, event)
      else reduceRunEvent(state.view, event)
  }
}

function reduceRunEvent(view: Lanes, event: Event): void {
  const pause = view.pauses.at(-1)
  switch (event.type) {
    case 'run:start':
      view.run_id = event.run_id
      view.started_at = event.at
      return
    case 'run:park':
      view.pauses.push({ started_at: event.at, ended_at: null })
      return
    case 'run:attempt':
      if (pause) pause.ended_at ??= event.at
      return
    case 'run:reopen':
      view.ended_at = null
      return
    case 'run:end':
      view.ended_at = event.at
  }
}

function openSession(state: LanesState, event: EventOf<'session:open'>): void {
  const { session_id = '', at, data } = event
  const { key, segment } = data
  const lane = laneFor(state, data.agent.name)
  const known = state.sessions.get(session_id)
  // After a crash the same segment is opened again: its bar continues.
  if (known?.session.key === key && known.session.segment === segment) {
    Object.assign(known.session, { status: 'running', ended_at: null })
    return
  }
  const session: LaneSession = { session_id, key, segment, status: 'running', started_at: at, ended_at: null }
  lane.sessions.push(session)
  const parent = state.sessions.get(data.parent_session_id ?? '')
  const arrow = parent && addArrow(state, { kind: 'delegation', from: parent.lane.agent, to: lane.agent, at })
  state.sessions.set(session_id, { lane, session, arrow })
}

function endSession({ sessions }: LanesState, { session_id = '', at, data }: EventOf<'session:end'>): void {
  const found = sessions.get(session_id)
  if (!found) return
  Object.assign(found.session, { status: data.status, ended_at: at })
  if (found.arrow) found.arrow.returned_at = at
}

type ModelEvent = EventOf<'model:begin'> | EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

function reduceModelEvent(state: LanesState, event: ModelEvent): void {
  const key = parentStepKey(event.data.key)
  if (event.type === 'model:begin') {
    if (event.data.phase === undefined) beginTurn(state, key, event)
    return
  }
  const turn = state.turns.get(key)
  if (!turn) return
  turn.ended_at = event.at
  turn.status = event.type === 'model:end' ? 'ok' : event.type === 'model:error' ? 'failed' : 'lost'
  if (event.type !== 'model:lost') turn.tokens += event.data.usage.input + event.data.usage.output
}

function beginTurn(state: LanesState, key: string, { data, at, session_id = '' }: EventOf<'model:begin'>): void {
  const { model } = data
  const again = state.turns.get(key)
  if (again) {
    Object.assign(again, { model, status: 'running', ended_at: null, attempts: again.attempts + 1 })
    return
  }
  const bar = { started_at: at, ended_at: null }
  const turn: LaneTurn = { key, session_id, model, status: 'running', attempts: 1, tokens: 0, running_calls: 0, ...bar }
  state.turns.set(key, turn)
  state.sessions.get(session_id)?.lane.turns.push(turn)
}

type ToolEvent = EventOf<'tool:pre'> | EventOf<'tool:post'> | EventOf<'tool:error'>

function reduceToolEvent(state: LanesState, event: ToolEvent): void {
  const { key } = event.data
  const turn = state.turns.get(parentStepKey(parentStepKey(key)))
  const call = state.calls.get(key) ?? addCall(state, event)
  if (event.type === 'tool:pre') {
    if (turn && call.category === null) Object.assign(turn, { ended_at: null, running_calls: turn.running_calls + 1 })
    Object.assign(call, { category: event.data.category, kind: event.data.kind })
    return
  }
  const wasRunning = call.category !== null && call.ended_at === null
  Object.assign(call, { status: event.type === 'tool:post' ? 'ok' : 'failed', ended_at: event.at })
  if (!turn) return
  if (wasRunning) turn.running_calls -= 1
  turn.ended_at = turn.running_calls > 0 ? null : event.at
}

function addCall(state: LanesState, { data, at, session_id = '' }: ToolEvent): LaneCall {
  const unknown = { category: null, kind: null, ended_at: null }
  const call: LaneCall = { key: data.key, session_id, tool: data.tool, status: 'running', started_at: at, ...unknown }
  state.calls.set(data.key, call)
  state.sessions.get(session_id)?.lane.calls.push(call)
  return call
}

function openGate(state: LanesState, { data, at, session_id = '' }: EventOf<'gate:open'>): void {
  const { gate_id, key, question, asked_by } = data
  if (state.gatesByKey.has(key)) return
  const gate: LaneGate = { gate_id, key, question, answered_by: null, started_at: at, ended_at: null }
  state.gatesByKey.set(key, gate)
  const lane = state.sessions.get(session_id)?.lane ?? state.byAgent.get(asked_by ?? '')
  ;(lane?.gates ?? state.view.gates).push(gate)
}

function addHandoff(state: LanesState, event: EventOf<PatternEventType>): void {
  for (const { events, view } of state.views) {
    const handoff = events.includes(event.type) ? view.handoff?.(event) : undefined
    if (handoff) addArrow(state, { kind: 'handoff', ...handoff, at: event.at })
  }
}

function addArrow(state: LanesState, arrow: Omit<LaneArrow, 'returned_at'>): LaneArrow {
  const added = { ...arrow, returned_at: null }
  state.view.arrows.push(added)
  return added
}

function laneFor({ view, byAgent }: LanesState, agent: string): Lane {
  const known = byAgent.get(agent)
  if (known) return known
  const lane: Lane = { agent, sessions: [], turns: [], calls: [], gates: [] }
  byAgent.set(agent, lane)
  view.lanes.push(lane)
  return lane
}
