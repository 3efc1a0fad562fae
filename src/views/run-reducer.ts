import type { Event, EventOf } from '../kernel/event.ts'
import { reduceCollaboration } from './collaboration-view.ts'
import type { GateNode, RunNode, RunView, SessionNode, ToolCallNode } from './run-view.ts'
import { newTeamView, reduceTeam, teamDepth } from './team-view.ts'

/*
 * A journal as a person would tell it: who worked for whom, what they called, what they asked. A fold over events; what
 * belongs to what follows from the step keys, which are paths.
 */

export function newRunView(): RunView {
  return {
    run_id: '',
    start: undefined,
    started_at: 0,
    end: undefined,
    ended_at: null,
    children: [],
    byKey: new Map(),
    sessions: new Map(),
    collaborations: { byKey: new Map(), specialists: new Map() },
    team: newTeamView(),
    calls: 0,
    input: 0,
    output: 0,
    estimated: 0,
    lost: { calls: 0, tokens: 0 },
  }
}

export function runViewFrom(events: readonly Event[]): RunView {
  const story = newRunView()
  for (const event of events) reduceRun(story, event)
  return story
}

/** Adds what an event says. */
export function reduceRun(story: RunView, event: Event): void {
  switch (event.type) {
    case 'run:start':
      story.run_id = event.run_id
      story.start = event.data
      story.started_at = event.at
      return
    case 'run:reopen':
      story.end = undefined
      story.ended_at = null
      if (event.data.key !== null) reopenNodes(story, event.data.key)
      return
    case 'run:end':
      story.end = event.data
      story.ended_at = event.at
      return
    case 'session:open':
    case 'session:input':
    case 'session:end':
      reduceSessionEvent(story, event)
      return
    case 'model:begin':
    case 'model:end':
    case 'model:error':
    case 'model:lost':
      reduceModelEvent(story, event)
      return
    case 'tool:pre':
    case 'tool:post':
    case 'tool:error':
      reduceToolEvent(story, event)
      return
    case 'gate:open':
    case 'gate:answer':
      reduceGateEvent(story, event)
      return
    default:
      reduceCollaboration(story.collaborations, event)
      reduceTeam(story.team, event)
  }
}

type SessionEvent = EventOf<'session:open'> | EventOf<'session:input'> | EventOf<'session:end'>

function reduceSessionEvent(story: RunView, event: SessionEvent): void {
  if (event.type === 'session:open') {
    addSession(story, event)
    return
  }
  const work = findEnclosing(story, event.data.key, 'session')
  if (!work) return
  if (event.type === 'session:input') {
    const words = event.data.message.content.flatMap((part) => (part.type === 'text' ? part.text : []))
    if (work.instruction === '') work.instruction = words.join('\n')
    return
  }
  const { status, stop_reason, text, error } = event.data
  Object.assign(work, { status, stop_reason, text, error, ended_at: event.at, thinking_since: null })
}

function addSession(story: RunView, event: EventOf<'session:open'>): void {
  const { key, agent, model, segment, depth } = event.data
  const work: SessionNode = {
    kind: 'session',
    key,
    session_id: event.session_id ?? '',
    agent: agent.name,
    model: model ?? null,
    segment,
    depth: depth + teamDepth(key),
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
  addNode(story, work)
  story.sessions.set(work.session_id, work)
}

type ModelEvent = EventOf<'model:begin'> | EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

function reduceModelEvent(story: RunView, event: ModelEvent): void {
  const work = findEnclosing(story, event.data.key, 'session')
  if (work) work.model_call_since = event.type === 'model:begin' ? event.at : null
  if (event.type === 'model:begin') return
  if (event.type === 'model:lost') {
    story.lost.calls += 1
    story.lost.tokens += event.data.reserved.tokens
    return
  }
  const { usage, estimated } = event.data
  story.calls += 1
  story.input += usage.input
  story.output += usage.output
  if (estimated) story.estimated += 1
  if (!work) return
  work.calls += 1
  work.tokens += usage.input + usage.output
}

type ToolEvent = EventOf<'tool:pre'> | EventOf<'tool:post'> | EventOf<'tool:error'>

function reduceToolEvent(story: RunView, event: ToolEvent): void {
  const { key, tool } = event.data
  const known = story.byKey.get(key)
  const call = known?.kind === 'call' ? known : addNode(story, newToolCall(key, tool, event.at))
  if (event.type === 'tool:pre') {
    call.input = event.data.input
    call.delegates = event.data.kind === 'pattern'
    return
  }
  call.ended_at = event.at
  call.status = event.type === 'tool:post' ? 'ok' : 'failed'
  call.error = event.type === 'tool:post' ? null : event.data.detail
}

function newToolCall(key: string, tool: string, at: number): ToolCallNode {
  const unknown = { input: undefined, delegates: false, error: null, ended_at: null }
  return { kind: 'call', key, tool, status: 'running', started_at: at, children: [], ...unknown }
}

function reduceGateEvent(story: RunView, event: EventOf<'gate:open'> | EventOf<'gate:answer'>): void {
  if (event.type === 'gate:answer') {
    const asked = story.byKey.get(event.data.key)
    if (asked?.kind !== 'gate') return
    asked.answer = event.data.answer
    asked.answered_by = event.data.by
    asked.ended_at = event.at
    return
  }
  const { key, gate_id, question, choices, asked_by } = event.data
  const rest = { answer: null, answered_by: null, ended_at: null, children: [], started_at: event.at }
  addNode(story, {
    kind: 'gate',
    key,
    gate_id,
    question,
    choices: choices ?? null,
    asked_by: asked_by ?? null,
    ...rest,
  })
}

/** What ended with the run's error goes on. */
function reopenNodes(story: RunView, key: string): void {
  for (const part of story.byKey.values()) {
    if (key !== part.key && !key.startsWith(`${part.key}/`)) continue
    if (part.kind === 'session')
      Object.assign(part, { status: 'running', stop_reason: null, error: null, ended_at: null })
    if (part.kind === 'call') Object.assign(part, { status: 'running', error: null, ended_at: null })
  }
}

function addNode<P extends RunNode>(story: RunView, part: P): P {
  const parent = findEnclosing(story, parentKeyOf(part.key))
  ;(parent?.children ?? story.children).push(part)
  story.byKey.set(part.key, part)
  return part
}

/** The part that this key lies in, the innermost one first. */
export function findEnclosing(story: RunView, key: string): RunNode | undefined
export function findEnclosing(story: RunView, key: string, kind: 'session'): SessionNode | undefined
export function findEnclosing(story: RunView, key: string, kind?: 'session'): RunNode | undefined {
  for (let path = key; path !== ''; path = parentKeyOf(path)) {
    const part = story.byKey.get(path)
    if (part && (kind === undefined || part.kind === kind)) return part
  }
  return undefined
}

function parentKeyOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

/** Sessions that nobody has ended, in the order they began. */
export function activeSessions(story: RunView): SessionNode[] {
  return [...story.byKey.values()].filter(
    (part) => part.kind === 'session' && part.status === 'running',
  ) as SessionNode[]
}

/** Questions without an answer. */
export function openGates(story: RunView): GateNode[] {
  return [...story.byKey.values()].filter((part) => part.kind === 'gate' && part.ended_at === null) as GateNode[]
}

/** True while something below waits for a person. */
export function isWaitingForAnswer(part: RunNode): boolean {
  return part.kind === 'gate' ? part.ended_at === null : part.children.some(isWaitingForAnswer)
}
