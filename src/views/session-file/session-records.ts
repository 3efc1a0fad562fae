import type { Agent } from '../../kernel/agent.ts'
import type { Event, EventOf, RunEnd, RunStart, SessionEnd } from '../../kernel/event.ts'
import { textFrom } from '../../kernel/model.ts'
import type { ToolCategory } from '../../kernel/tool.ts'
import { parentStepKey } from '../../run-model/step-tree.ts'
import { withoutFileData } from '../attachment-list.ts'
import { FileChangeLog } from './file-changes.ts'

/*
 * The facts of a journal that a session file is made of. Step keys are paths: the session or call that contains a step is the one with
 * the longest key that is a prefix of the step's.
 */

export interface CallFacts {
  key: string
  tool: string
  category: ToolCategory
  started_at: number
  ended_at: number | undefined
  input: unknown
  outcome: { ok: boolean; result?: unknown; error?: string; truncated?: boolean } | undefined
  session: SegmentFacts | undefined
  /** Sessions that were opened in this call and in no call within it. */
  opened: SegmentFacts[]
}

export interface JournalPlace {
  at: number
  seq: number
}

/** One segment of a session: what it did in this run for one instruction. */
export interface SegmentFacts {
  key: string
  session_id: string
  agent: Agent
  opened: JournalPlace
  ended: JournalPlace | undefined
  end: SessionEnd | undefined
  instruction: string
  model: string | undefined
  tokens: number
  calls: CallFacts[]
  /** The call that it was opened in; none if the run itself opened it. */
  opener: CallFacts | undefined
}

export interface RunFacts {
  run_id: string
  start: RunStart | undefined
  started_at: number
  end: RunEnd | undefined
  /** Time of the last event. */
  last_at: number
  parked: boolean
  segments: Map<string, SegmentFacts>
  calls: Map<string, CallFacts>
  /** Questions without an answer, by key. */
  questions: Map<string, string>
  model: string | undefined
  failed_requests: number
  files: FileChangeLog
}

export function runFactsFrom(events: Iterable<Event>): RunFacts {
  const facts: RunFacts = {
    run_id: '',
    start: undefined,
    started_at: 0,
    end: undefined,
    last_at: 0,
    parked: false,
    segments: new Map(),
    calls: new Map(),
    questions: new Map(),
    model: undefined,
    failed_requests: 0,
    files: new FileChangeLog(),
  }
  for (const event of events) addEvent(facts, event)
  return facts
}

function addEvent(facts: RunFacts, event: Event): void {
  facts.last_at = event.at
  facts.files.add(event)
  switch (event.type) {
    case 'session:open':
      openSegment(facts, event)
      return
    case 'session:input': {
      const segment = enclosing(facts.segments, event.data.key)
      if (segment?.instruction === '') segment.instruction = textFrom(event.data.message)
      return
    }
    case 'session:end': {
      const segment = enclosing(facts.segments, event.data.key)
      if (segment) Object.assign(segment, { end: event.data, ended: { at: event.at, seq: event.seq } })
      return
    }
    case 'model:begin':
    case 'model:end':
    case 'model:error':
      addModelEvent(facts, event)
      return
    case 'tool:pre':
    case 'tool:post':
    case 'tool:error':
      addToolEvent(facts, event)
      return
    case 'gate:open':
      facts.questions.set(event.data.key, event.data.question)
      return
    case 'gate:answer':
      facts.questions.delete(event.data.key)
      return
    default:
      addRunEvent(facts, event)
  }
}

function addRunEvent(facts: RunFacts, event: Event): void {
  if (event.type === 'run:start') {
    Object.assign(facts, { run_id: event.run_id, start: event.data, started_at: event.at })
  } else if (event.type === 'run:park') facts.parked = true
  else if (event.type === 'run:attempt') facts.parked = false
  else if (event.type === 'run:reopen') facts.end = undefined
  else if (event.type === 'run:end') facts.end = event.data
}

function openSegment(facts: RunFacts, { data, at, seq, session_id = '' }: EventOf<'session:open'>): void {
  const known = facts.segments.get(data.key)
  if (known) {
    // Opened again after a crash or a failure: it goes on.
    Object.assign(known, { end: undefined, ended: undefined })
    return
  }
  const opener = enclosing(facts.calls, data.key)
  const segment: SegmentFacts = {
    key: data.key,
    session_id,
    agent: data.agent,
    opened: { at, seq },
    ended: undefined,
    end: undefined,
    instruction: '',
    model: undefined,
    tokens: 0,
    calls: [],
    opener,
  }
  opener?.opened.push(segment)
  facts.segments.set(data.key, segment)
}

type ModelEvent = EventOf<'model:begin'> | EventOf<'model:end'> | EventOf<'model:error'>

function addModelEvent(facts: RunFacts, event: ModelEvent): void {
  const segment = enclosing(facts.segments, event.data.key)
  if (event.type === 'model:begin') {
    facts.model ??= event.data.model
    if (segment) segment.model ??= event.data.model
    return
  }
  if (event.type === 'model:error' && event.data.retry === undefined) facts.failed_requests += 1
  if (segment) segment.tokens += event.data.usage.input + event.data.usage.output
}

type ToolEvent = EventOf<'tool:pre'> | EventOf<'tool:post'> | EventOf<'tool:error'>

function addToolEvent(facts: RunFacts, event: ToolEvent): void {
  const call = facts.calls.get(event.data.key) ?? addCall(facts, event)
  if (event.type === 'tool:pre') {
    const { category, input } = event.data
    Object.assign(call, { category, input: withoutFileData(input), outcome: undefined, ended_at: undefined })
    return
  }
  call.ended_at = event.at
  const result = withoutFileData(event.data.output)
  call.outcome =
    event.type === 'tool:post'
      ? { ok: true, result, ...(event.data.truncated ? { truncated: true } : undefined) }
      : { ok: false, error: event.data.error, ...(result === undefined || result === null ? undefined : { result }) }
}

function addCall(facts: RunFacts, { data, at }: ToolEvent): CallFacts {
  const session = enclosing(facts.segments, data.key)
  const call: CallFacts = {
    key: data.key,
    tool: data.tool,
    category: 'action',
    started_at: at,
    ended_at: undefined,
    input: undefined,
    outcome: undefined,
    session,
    opened: [],
  }
  facts.calls.set(data.key, call)
  session?.calls.push(call)
  return call
}

/** The entry with the longest key that contains this one. */
function enclosing<T>(entries: ReadonlyMap<string, T>, key: string): T | undefined {
  for (let path = key; path !== ''; path = parentStepKey(path)) {
    const entry = entries.get(path)
    if (entry) return entry
  }
  return undefined
}
