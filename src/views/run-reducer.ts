import type { Event, EventOf, PatternEventType } from '../kernel/event.ts'
import { isKernelEventType } from '../kernel/event.ts'
import type { GateNode, LoadedView, RunNode, RunView, SessionNode, ToolCallNode } from './run-view.ts'

/*
 * Reduces a journal to a tree of sessions, tool calls and gates. Step keys are paths, so a node's parent is the node
 * with the longest key that is a prefix of its own.
 */

/** `views` are those of the patterns that this process knows. */
export function newRunView(views: readonly LoadedView[] = []): RunView {
  return {
    run_id: '',
    start: undefined,
    started_at: 0,
    end: undefined,
    ended_at: null,
    children: [],
    byKey: new Map(),
    sessions: new Map(),
    patterns: views.map(({ name, events, view }) => ({ name, events: new Set(events), view, state: view.initial() })),
    otherEvents: [],
    unpriced: new Map(),
    calls: 0,
    input: 0,
    output: 0,
    estimated: 0,
    lost: { calls: 0, tokens: 0 },
  }
}

export function runViewFrom(events: readonly Event[], views: readonly LoadedView[] = []): RunView {
  const view = newRunView(views)
  for (const event of events) reduceRun(view, event)
  return view
}

/** Updates the view in place with one event. */
export function reduceRun(view: RunView, event: Event): void {
  switch (event.type) {
    case 'run:start':
      view.run_id = event.run_id
      view.start = event.data
      view.started_at = event.at
      return
    case 'run:reopen':
      view.end = undefined
      view.ended_at = null
      for (const key of [event.data.key, ...(event.data.additional_keys ?? [])])
        if (key !== null) reopenNodes(view, key)
      return
    case 'run:end':
      view.end = event.data
      view.ended_at = event.at
      return
    case 'session:open':
    case 'session:input':
    case 'session:end':
      reduceSessionEvent(view, event)
      return
    case 'model:begin':
    case 'model:end':
    case 'model:error':
    case 'model:lost':
      reduceModelEvent(view, event)
      return
    case 'tool:pre':
    case 'tool:post':
    case 'tool:error':
      reduceToolEvent(view, event)
      return
    case 'gate:open':
    case 'gate:answer':
      reduceGateEvent(view, event)
      return
    default:
      if (isPatternEvent(event)) reducePatternEvent(view, event)
  }
}

const OTHER_EVENTS_KEPT = 100

/** True for events that a pattern emitted. */
export function isPatternEvent(event: Event): event is EventOf<PatternEventType> {
  return !isKernelEventType(event.type)
}

function reducePatternEvent(view: RunView, event: EventOf<PatternEventType>): void {
  const owners = view.patterns.filter(({ events }) => events.has(event.type))
  for (const owner of owners) {
    try {
      owner.state = owner.view.reduce(owner.state, event)
    } catch {
      // Written by another version of the pattern: a run must stay visible, so its events are shown by their fields.
      view.patterns.splice(view.patterns.indexOf(owner), 1)
    }
  }
  if (view.patterns.some(({ events }) => events.has(event.type))) return
  view.otherEvents.push(event)
  if (view.otherEvents.length > OTHER_EVENTS_KEPT) view.otherEvents.shift()
}

type SessionEvent = EventOf<'session:open'> | EventOf<'session:input'> | EventOf<'session:end'>

function reduceSessionEvent(view: RunView, event: SessionEvent): void {
  if (event.type === 'session:open') {
    addSession(view, event)
    return
  }
  const session = findEnclosing(view, event.data.key, 'session')
  if (!session) return
  if (event.type === 'session:input') {
    const texts = event.data.message.content.flatMap((part) => (part.type === 'text' ? part.text : []))
    if (session.instruction === '') session.instruction = texts.join('\n')
    return
  }
  const { status, stop_reason, text, error } = event.data
  Object.assign(session, { status, stop_reason, text, error, ended_at: event.at, model_call_since: null })
}

function addSession(view: RunView, event: EventOf<'session:open'>): void {
  const { key, agent, model, segment, depth } = event.data
  const session: SessionNode = {
    kind: 'session',
    key,
    session_id: event.session_id ?? '',
    agent: agent.name,
    model: model ?? null,
    segment,
    depth: depth + view.patterns.reduce((sum, { view: each }) => sum + (each.depth?.(key) ?? 0), 0),
    status: 'running',
    stop_reason: null,
    instruction: '',
    text: '',
    error: null,
    calls: 0,
    tokens: 0,
    model_call_since: null,
    started_at: event.at,
    ended_at: null,
    children: [],
  }
  addNode(view, session)
  view.sessions.set(session.session_id, session)
}

type ModelEvent = EventOf<'model:begin'> | EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

function reduceModelEvent(view: RunView, event: ModelEvent): void {
  const session = findEnclosing(view, event.data.key, 'session')
  if (session) session.model_call_since = event.type === 'model:begin' ? event.at : null
  if (event.type === 'model:begin') {
    const { model, unpriced } = event.data
    if (unpriced && !view.unpriced.has(model)) view.unpriced.set(model, event.seq)
    return
  }
  if (event.type === 'model:lost') {
    view.lost.calls += 1
    view.lost.tokens += event.data.reserved.tokens
    return
  }
  const { usage, estimated } = event.data
  view.calls += 1
  view.input += usage.input
  view.output += usage.output
  if (estimated) view.estimated += 1
  if (!session) return
  session.calls += 1
  session.tokens += usage.input + usage.output
}

type ToolEvent = EventOf<'tool:pre'> | EventOf<'tool:post'> | EventOf<'tool:error'>

function reduceToolEvent(view: RunView, event: ToolEvent): void {
  const { key, tool } = event.data
  const known = view.byKey.get(key)
  const call = known?.kind === 'call' ? known : addNode(view, newToolCall(key, tool, event.at))
  if (event.type === 'tool:pre') {
    call.input = event.data.input
    call.delegates = event.data.kind === 'pattern'
    return
  }
  call.ended_at = event.at
  call.status = event.type === 'tool:post' ? 'ok' : 'failed'
  call.error = event.type === 'tool:post' ? null : event.data.detail
}

function newToolCall(key: string, tool: string, started_at: number): ToolCallNode {
  const unknown = { input: undefined, delegates: false, error: null, ended_at: null }
  return { kind: 'call', key, tool, status: 'running', started_at, children: [], ...unknown }
}

function reduceGateEvent(view: RunView, event: EventOf<'gate:open'> | EventOf<'gate:answer'>): void {
  if (event.type === 'gate:answer') {
    const gate = view.byKey.get(event.data.key)
    if (gate?.kind !== 'gate') return
    gate.answer = event.data.answer
    gate.answered_by = event.data.by
    gate.ended_at = event.at
    return
  }
  const { key, gate_id, question, choices, asked_by } = event.data
  const rest = { answer: null, answered_by: null, ended_at: null, children: [], started_at: event.at }
  addNode(view, {
    kind: 'gate',
    key,
    gate_id,
    question,
    choices: choices ?? null,
    asked_by: asked_by ?? null,
    ...rest,
  })
}

/** Marks the nodes on the path to the failed step as running again. */
function reopenNodes(view: RunView, key: string): void {
  for (const node of view.byKey.values()) {
    if (key !== node.key && !key.startsWith(`${node.key}/`)) continue
    if (node.kind === 'session')
      Object.assign(node, { status: 'running', stop_reason: null, error: null, ended_at: null })
    if (node.kind === 'call') Object.assign(node, { status: 'running', error: null, ended_at: null })
  }
}

export function parentStepKey(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

function addNode<N extends RunNode>(view: RunView, node: N): N {
  const parent = findEnclosing(view, parentStepKey(node.key))
  ;(parent?.children ?? view.children).push(node)
  view.byKey.set(node.key, node)
  return node
}

/** The innermost node that contains this key. */
export function findEnclosing(view: RunView, key: string): RunNode | undefined
export function findEnclosing(view: RunView, key: string, kind: 'session'): SessionNode | undefined
export function findEnclosing(view: RunView, key: string, kind?: 'session'): RunNode | undefined {
  for (let path = key; path !== ''; path = parentStepKey(path)) {
    const node = view.byKey.get(path)
    if (node && (kind === undefined || node.kind === kind)) return node
  }
  return undefined
}

/** Running sessions, in the order in which they were opened. */
export function activeSessions(view: RunView): SessionNode[] {
  return [...view.byKey.values()].filter(
    (node) => node.kind === 'session' && node.status === 'running',
  ) as SessionNode[]
}

/** Gates without an answer. */
export function openGates(view: RunView): GateNode[] {
  return [...view.byKey.values()].filter((node) => node.kind === 'gate' && node.ended_at === null) as GateNode[]
}

/** Whether this node or one below it waits for a human answer. */
export function isWaitingForAnswer(node: RunNode): boolean {
  return node.kind === 'gate' ? node.ended_at === null : node.children.some(isWaitingForAnswer)
}
