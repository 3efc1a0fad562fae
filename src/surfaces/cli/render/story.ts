import type { Event, EventOf } from '../../../kernel/event.ts'
import { hearCollaboration } from './collaboration.ts'
import type { Asked, Call, Part, Story, Work } from './story-parts.ts'
import { hearTeam, newTeamTold, teamsAbove } from './team-told.ts'

/*
 * A journal as a person would tell it: who worked for whom, what they called, what they asked. A fold over events; what
 * belongs to what follows from the step keys, which are paths.
 */

export function newStory(): Story {
  return {
    run_id: '',
    start: undefined,
    started_at: 0,
    end: undefined,
    ended_at: null,
    parts: [],
    byKey: new Map(),
    sessions: new Map(),
    collaborations: { byKey: new Map(), voices: new Map() },
    team: newTeamTold(),
    calls: 0,
    input: 0,
    output: 0,
    estimated: 0,
    lost: { calls: 0, tokens: 0 },
  }
}

export function tell(events: readonly Event[]): Story {
  const story = newStory()
  for (const event of events) hear(story, event)
  return story
}

/** Adds what an event says. */
export function hear(story: Story, event: Event): void {
  switch (event.type) {
    case 'run:start':
      story.run_id = event.run_id
      story.start = event.data
      story.started_at = event.at
      return
    case 'run:reopen':
      story.end = undefined
      story.ended_at = null
      if (event.data.key !== null) reopen(story, event.data.key)
      return
    case 'run:end':
      story.end = event.data
      story.ended_at = event.at
      return
    case 'session:open':
    case 'session:input':
    case 'session:end':
      hearSession(story, event)
      return
    case 'model:begin':
    case 'model:end':
    case 'model:error':
    case 'model:lost':
      hearModel(story, event)
      return
    case 'tool:pre':
    case 'tool:post':
    case 'tool:error':
      hearTool(story, event)
      return
    case 'gate:open':
    case 'gate:answer':
      hearGate(story, event)
      return
    default:
      hearCollaboration(story.collaborations, event)
      hearTeam(story.team, event)
  }
}

type SessionEvent = EventOf<'session:open'> | EventOf<'session:input'> | EventOf<'session:end'>

function hearSession(story: Story, event: SessionEvent): void {
  if (event.type === 'session:open') {
    opened(story, event)
    return
  }
  const work = enclosing(story, event.data.key, 'session')
  if (!work) return
  if (event.type === 'session:input') {
    const words = event.data.message.content.flatMap((part) => (part.type === 'text' ? part.text : []))
    if (work.instruction === '') work.instruction = words.join('\n')
    return
  }
  const { status, stop_reason, text, error } = event.data
  Object.assign(work, { status, stop_reason, text, error, ended_at: event.at, thinking_since: null })
}

function opened(story: Story, event: EventOf<'session:open'>): void {
  const { key, agent, model, segment, depth } = event.data
  const work: Work = {
    kind: 'session',
    key,
    session_id: event.session_id ?? '',
    agent: agent.name,
    model: model ?? null,
    segment,
    depth: depth + teamsAbove(key),
    status: 'running',
    stop_reason: null,
    instruction: '',
    text: '',
    error: null,
    calls: 0,
    tokens: 0,
    thinking_since: null,
    started_at: event.at,
    ended_at: null,
    parts: [],
  }
  place(story, work)
  story.sessions.set(work.session_id, work)
}

type ModelEvent = EventOf<'model:begin'> | EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

function hearModel(story: Story, event: ModelEvent): void {
  const work = enclosing(story, event.data.key, 'session')
  if (work) work.thinking_since = event.type === 'model:begin' ? event.at : null
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

function hearTool(story: Story, event: ToolEvent): void {
  const { key, tool } = event.data
  const known = story.byKey.get(key)
  const call = known?.kind === 'call' ? known : place(story, newCall(key, tool, event.at))
  if (event.type === 'tool:pre') {
    call.input = event.data.input
    call.delegates = event.data.kind === 'pattern'
    return
  }
  call.ended_at = event.at
  call.status = event.type === 'tool:post' ? 'ok' : 'failed'
  call.error = event.type === 'tool:post' ? null : event.data.detail
}

function newCall(key: string, tool: string, at: number): Call {
  const unknown = { input: undefined, delegates: false, error: null, ended_at: null }
  return { kind: 'call', key, tool, status: 'running', started_at: at, parts: [], ...unknown }
}

function hearGate(story: Story, event: EventOf<'gate:open'> | EventOf<'gate:answer'>): void {
  if (event.type === 'gate:answer') {
    const asked = story.byKey.get(event.data.key)
    if (asked?.kind !== 'gate') return
    asked.answer = event.data.answer
    asked.answered_by = event.data.by
    asked.ended_at = event.at
    return
  }
  const { key, gate_id, question, choices, asked_by } = event.data
  const rest = { answer: null, answered_by: null, ended_at: null, parts: [], started_at: event.at }
  place(story, { kind: 'gate', key, gate_id, question, choices: choices ?? null, asked_by: asked_by ?? null, ...rest })
}

/** What ended with the run's error goes on. */
function reopen(story: Story, key: string): void {
  for (const part of story.byKey.values()) {
    if (key !== part.key && !key.startsWith(`${part.key}/`)) continue
    if (part.kind === 'session')
      Object.assign(part, { status: 'running', stop_reason: null, error: null, ended_at: null })
    if (part.kind === 'call') Object.assign(part, { status: 'running', error: null, ended_at: null })
  }
}

function place<P extends Part>(story: Story, part: P): P {
  const parent = enclosing(story, parentKey(part.key))
  ;(parent?.parts ?? story.parts).push(part)
  story.byKey.set(part.key, part)
  return part
}

/** The part that this key lies in, the innermost one first. */
export function enclosing(story: Story, key: string): Part | undefined
export function enclosing(story: Story, key: string, kind: 'session'): Work | undefined
export function enclosing(story: Story, key: string, kind?: 'session'): Part | undefined {
  for (let path = key; path !== ''; path = parentKey(path)) {
    const part = story.byKey.get(path)
    if (part && (kind === undefined || part.kind === kind)) return part
  }
  return undefined
}

function parentKey(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

/** Sessions that nobody has ended, in the order they began. */
export function atWork(story: Story): Work[] {
  return [...story.byKey.values()].filter((part) => part.kind === 'session' && part.status === 'running') as Work[]
}

/** Questions without an answer. */
export function openQuestions(story: Story): Asked[] {
  return [...story.byKey.values()].filter((part) => part.kind === 'gate' && part.ended_at === null) as Asked[]
}

/** True while something below waits for a person. */
export function waitsForAnswer(part: Part): boolean {
  return part.kind === 'gate' ? part.ended_at === null : part.parts.some(waitsForAnswer)
}
