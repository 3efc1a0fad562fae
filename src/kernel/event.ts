import type { ErrorRecord } from '../errors.ts'
import type { Agent, AgentPermissions } from './agent.ts'
import type { Artifact } from './artifact.ts'
import type { Gate, GateAnswer } from './gate.ts'
import type { Limits } from './limits.ts'
import type { AssistantMessage, ModelStop, Usage, UserMessage } from './model.ts'
import type { PatternEventData } from './pattern-event.ts'
import type { RetryAttempt } from './retry-policy.ts'
import type { SteeringCommand } from './steer-action.ts'
import type { ToolCategory, ToolKind } from './tool.ts'

export type Status = 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'

export type StopReason =
  | 'completed'
  | 'partial'
  | 'max_turns'
  | 'budget'
  | 'timeout'
  | 'cancelled'
  | 'refused'
  | 'failed'

/** What a call may use at the most, set aside before it is made. */
export interface ReservedBudget {
  calls: number
  tokens: number
  usd: number
}

export interface RunStart {
  /** The shape of the events that follow; older shapes are upcast when read. */
  format: 1
  project: string
  pattern: string
  version: number
  input: unknown
  limits: Limits
  model?: string
  /** The folder that its agents work in. */
  workspace?: string
  /** Rules for tool calls that were set when it was started. */
  permissions?: unknown
  forked_from?: ForkedFrom
}

/** A run that began as another one: its first `inherited` events are that one's up to `seq`, but for the changes. */
export interface ForkedFrom {
  run_id: string
  seq: number
  inherited: number
  changes: ForkChanges
}

/** What a fork does differently. */
export interface ForkChanges {
  model?: string
  agents?: Record<string, { instructions?: string; model?: string }>
  limits?: Partial<Limits>
  /** By the id of the question. */
  answers?: Record<string, unknown>
  input?: Record<string, unknown>
}

export interface RunEnd {
  status: 'completed' | 'failed' | 'cancelled'
  stop_reason: StopReason
  output: unknown
  error: ErrorRecord | null
  /** Further steps that failed and are tried again when the run is resumed. */
  retry_keys?: string[]
}

export interface SessionOpen {
  key: string
  agent: Agent
  /** The model it was given by name, if any; resuming restores it. */
  model?: string
  tools: string[]
  parent_session_id: string | null
  depth: number
  self_depth: number
  max_depth: number
  /** Names of the agents above it, the topmost first. */
  path: string[]
  /** From 1; a session resumed later opens its next segment. */
  segment: number
  /** The last event of the segments before this one; with `session_id` where the session had another id there. */
  base?: { run_id: string; seq: number; session_id?: string }
  cache_key?: string
  /** It began with what others had said: how many messages, and the hash of them. */
  thread?: { length: number; hash: string }
  /** Started in plan mode: it may change nothing. */
  read_only?: true
  /** Rules of those above it that came with the tools it has from them, the topmost first. */
  inherited_rules?: AgentPermissions[]
  /** It works while its caller goes on; a restart enters it again by itself. */
  background?: true
}

/** What was dropped from a conversation to make room; the events it came from keep it. */
export interface SessionCompress {
  key: string
  /** Indexes of messages whose tool results were cut. */
  truncated_messages: number[]
  /** The messages that the summary stands for; `to` is not among them. */
  from: number
  to: number
  summary: string | null
  /** Bytes of the conversation before. */
  bytes_before: number
}

export interface SessionEnd {
  key: string
  status: 'completed' | 'failed' | 'cancelled'
  stop_reason: StopReason
  text: string
  /** The answer as an object, where one of a given shape was asked for. */
  object?: unknown
  /** Where nothing was said at all: the call that could be tried again. */
  empty_response_key?: string
  turn_count: number
  usage: Usage & { calls: number }
  error: ErrorRecord | null
}

interface ToolEventFields {
  key: string
  tool: string
  tool_call_id: string
  parallel_group_id: string
  /** For delegation: the specification's fields. */
  agent?: string
  sub_session_id?: string
  parent_session_id?: string
}

export interface ToolPre extends ToolEventFields {
  kind: ToolKind
  category: ToolCategory
  input: unknown
  idempotency_key: string
  instruction?: string
  depth?: number
  /** What the call is about, as permission rules saw it. */
  subject?: string
  /** Patterns of files that rules keep from a search. */
  excluded_globs?: readonly string[]
  /** Set when a hook changed the input: what the model had asked for. */
  original_input?: unknown
}

export interface ToolPost extends ToolEventFields {
  status: 'ok'
  output: unknown
  files?: string[]
  truncated?: number
  recovered?: true
  /** Sessions that this call left working in the background. */
  started?: string[]
  /** Background sessions whose results this call brought. */
  collected?: string[]
  plan_mode?: boolean
}

export interface ToolError extends ToolEventFields {
  error: string
  detail: ErrorRecord
  output?: unknown
  files?: string[]
  collected?: string[]
}

export interface LimitHit {
  key: string
  limit: keyof Limits
  used: number
  max: number
  error: ErrorRecord
}

/** Every event type and what it carries. Names given by the specifications are kept to the letter. */
export interface EventData extends PatternEventData {
  'run:start': RunStart
  'run:attempt': { epoch: number; owner: string }
  'run:reopen': { key: string | null; additional_keys?: string[]; limits: Limits; force?: true }
  'run:park': { gates: string[] }
  'run:interrupt': { reason: string }
  'run:cancel': { reason: string }
  /** `command` is the id of the command it was: none is obeyed twice. */
  'run:steer': SteeringCommand & { command: number }
  'run:end': RunEnd
  'session:open': SessionOpen
  'session:input': { key: string; message: UserMessage; collected?: string[] }
  'session:context': { key: string; message: UserMessage | null }
  'session:compress': SessionCompress
  'session:end': SessionEnd
  'model:begin': {
    key: string
    attempt: number
    model: string
    reserved: ReservedBudget
    input_hash: string
    /** What the call is for, when it is not a turn of the conversation. */
    phase?: 'summary'
  }
  'model:end': {
    key: string
    attempt: number
    message: AssistantMessage
    stop: ModelStop
    usage: Usage
    usd: number | null
    estimated?: true
    mark?: string
    phase?: 'summary'
  }
  'model:error': {
    key: string
    attempt: number
    error: ErrorRecord
    /** What had arrived when it broke off. */
    partial_text: string
    /** Set when it is tried again: the step is not settled by this. */
    retry?: RetryAttempt
    usage: Usage
    usd: number | null
    estimated?: true
    mark?: string
  }
  /** `partial` is what had arrived of an answer that was cut short. */
  'model:lost': {
    key: string
    attempt: number
    reserved: ReservedBudget
    reason: 'crash' | 'abort'
    partial_text?: string
  }
  'tool:pre': ToolPre
  'tool:post': ToolPost
  'tool:error': ToolError
  'step:begin': { key: string; kind: ToolKind }
  'step:end': { key: string; v: number; input_hash: string | null; result: unknown }
  'step:error': { key: string; v: number; input_hash: string | null; error: ErrorRecord }
  'step:drift': { key: string; recorded_hash: string; current_hash: string }
  'limit:hit': LimitHit
  'gate:open': Gate
  'gate:answer': GateAnswer
  'artifact:write': Artifact
}

/** Programs may add their own facts under `custom:`. */
export type CustomEventType = `custom:${string}`
export type EventType = keyof EventData | CustomEventType
/** What a pattern may say itself; all else is said by what it does. */
export type PatternEventType = keyof PatternEventData | CustomEventType
export type EventDataOf<T extends EventType> = T extends keyof EventData
  ? EventData[T]
  : { key: string; [field: string]: unknown }

/** One fact in a journal. */
export interface EventOf<T extends EventType> {
  run_id: string
  /** From 1, without holes. */
  seq: number
  at: number
  type: T
  session_id?: string
  data: EventDataOf<T>
}

export type KnownEvent = { [T in keyof EventData]: EventOf<T> }[keyof EventData]
export type Event = KnownEvent | EventOf<CustomEventType>

/** Narrows an event without a cast at the place of use. */
export function isEvent<T extends EventType>(event: Event | undefined, type: T): event is Extract<Event, EventOf<T>> {
  return event?.type === type
}
