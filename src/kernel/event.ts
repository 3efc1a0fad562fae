import type { ErrorRecord } from '../errors.ts'
import type { JsonSchema } from '../schema/standard-schema.ts'
import type { Agent, AgentPermissions } from './agent.ts'
import type { Artifact } from './artifact.ts'
import type { Attachment } from './attachment.ts'
import type { Gate, GateAnswer } from './gate.ts'
import type { Limits } from './limits.ts'
import type { AssistantMessage, Usage, UserMessage } from './model.ts'
import type { ModelEnd, ModelError, PlanEntry, ReservedBudget } from './model-event.ts'
import type { RunContextData } from './run-metadata.ts'
import type { QueuePlace } from './session/session-queue.ts'
import type { SteeringCommand } from './steer-action.ts'
import type { ToolCategory, ToolKind, ToolProgress, ToolResult } from './tool.ts'
import type { SessionWorktree, WorktreeResult } from './worktree.ts'

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

/** The format of the events that this version writes. */
export const JOURNAL_FORMAT = 2

export interface RunStart {
  /** The format of the events; a journal of another format cannot be executed. */
  format: typeof JOURNAL_FORMAT
  project: string
  pattern: string
  version: number
  input: unknown
  limits: Limits
  model?: string
  tags?: string[]
  context?: RunContextData
  /** The agents' working folder. */
  workspace?: string
  /** The files and folders of the workspace that configured the run, as paths from it: no process lets the run's agents write them. */
  protected_paths?: string[]
  /** Permission rules given at the start of the run. */
  permissions?: unknown
  /** The parts of the host that the run depends on: a process that lacks one does not execute it. */
  needs?: object
  forked_from?: ForkedFrom
}

/** A model that a resumed run uses instead of the one that it used before: the process that resumes it has another one for the role. */
export interface ModelChange {
  /** `fast`, `general` or `reasoning`; `default` for agents that name no model, if that is not the model of `general`. */
  readonly role: string
  readonly from: string
  readonly to: string
  /** The agents that are at work in the run and sent their last request to `from`. */
  readonly agents: readonly string[]
}

/** Origin of a forked run: its first `inherited` events are those of `run_id` up to `seq`, with the changes applied. */
export interface ForkedFrom {
  run_id: string
  seq: number
  inherited: number
  changes: ForkChanges
}

export interface ForkChanges {
  model?: string
  agents?: Record<string, { instructions?: string; model?: string }>
  limits?: Partial<Limits>
  /** By `gate_id`. */
  answers?: Record<string, unknown>
  input?: Record<string, unknown>
}

export interface RunEnd {
  status: 'completed' | 'failed' | 'cancelled'
  stop_reason: StopReason
  output: unknown
  error: ErrorRecord | null
  /** Failed steps that `resume` retries, besides that of `error`. A run that completed with some is incomplete (`partial`). */
  retry_keys?: string[]
}

/** The place of a session in the tree of its run. */
export interface SessionPlacement {
  parent_session_id: string | null
  depth: number
  self_depth: number
  max_depth: number
  /** Names of the agents above, root first. */
  path: string[]
}

/** What a session can use, and where it works. */
export interface SessionRights {
  tools: string[]
  /** The section of the system prompt about the folder that the agent works in. */
  environment?: string
  /** The folder that its tools work in, if it is not that of the run. */
  workspace?: string
  /** The worktree that the session has for itself. */
  worktree?: SessionWorktree
  /** Opened in plan mode: the session changes nothing. */
  read_only?: true
  /** Text files that the session writes become artifacts. */
  file_artifacts?: true
  /** Permission rules of the callers whose tools it inherits, root first. */
  inherited_rules?: AgentPermissions[]
}

/** When a session runs, and who gets its result. */
export interface SessionSchedule {
  /** Runs while its caller continues; a restart resumes it. */
  background?: true
  /** The tool that gets the result of a background session which its caller has not collected, and its input. */
  collect_with?: { tool: string; input: unknown }
  /** Waits for its place before its first turn. */
  queue?: QueuePlace
  /** Time in which no process executed the run counts towards `timeout_ms` of the agent. */
  count_downtime?: true
}

export interface SessionOpen extends SessionPlacement, SessionRights, SessionSchedule {
  key: string
  agent: Agent
  /** The requested model; resuming restores it. */
  model?: string
  /** From 1; resuming a session opens its next segment. */
  segment: number
  /** Last event of the previous segments; `session_id` if the session had another id there. */
  base?: { run_id: string; seq: number; session_id?: string }
  cache_key?: string
  /** Schema of the structured output of a background session, for the process that resumes it. */
  output?: JsonSchema
  /** A response that does not match `output` is accepted as text. */
  allow_text?: true
  /** Length and hash of the shared thread it began with. */
  thread?: { length: number; hash: string }
  /** Set if the pattern that opened it bounds its sessions itself: it does not count against `limits.breadth`. */
  bound?: 'own'
  /** It stays when resume retries what its request depends on. */
  keep?: true
}

/** Context compaction. The dropped text stays in its original events. */
export interface SessionCompress {
  key: string
  /** Indexes of messages whose tool results were omitted. */
  truncated_messages: number[]
  /** The messages that `summary` replaces, `to` exclusive. */
  from: number
  to: number
  summary: string | null
  /** Size of the conversation before compaction. */
  bytes_before: number
}

export interface SessionEnd {
  key: string
  status: 'completed' | 'failed' | 'cancelled'
  stop_reason: StopReason
  text: string
  /** The structured output. */
  object?: unknown
  /** The step key of an empty model response, which `resume` can repeat. */
  empty_response_key?: string
  /** The changes of a session with a worktree of its own. */
  worktree?: WorktreeResult
  turn_count: number
  usage: Usage & { calls: number }
  error: ErrorRecord | null
}

interface ToolEventFields {
  key: string
  tool: string
  tool_call_id: string
  parallel_group_id: string
  /** Set for delegation. */
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
  /** The subject that permission rules matched: a path, a command, a URL. */
  subject?: string
  /** The content that a person has approved the change of, as a hash; empty for a new file. */
  approved_base?: string
  /** Files that permission rules hide from a search. */
  excluded_globs?: readonly string[]
  /** The model's input, if a hook changed it. */
  original_input?: unknown
}

/** The outcome of a call, also of one that failed. */
interface ToolOutcome extends ToolEventFields, Pick<ToolResult, 'files' | 'created' | 'deleted'> {
  output?: unknown
  /** Background sessions whose results this call returned. */
  collected?: string[]
  /** Steps below this call that failed for a reason outside the run; `resume` retries them unless the caller has answered. */
  retry_keys?: string[]
}

export interface ToolPost extends ToolOutcome {
  status: 'ok'
  /** Images of the result. */
  attachments?: readonly Attachment[]
  truncated?: number
  recovered?: true
  /** Background sessions that this call started. */
  started?: string[]
  plan_mode?: boolean
}

/** A call that takes long is at work; recorded from time to time. */
export interface ToolProgressData extends ToolProgress {
  key: string
  tool: string
  tool_call_id: string
}

export interface ToolError extends ToolOutcome {
  error: string
  detail: ErrorRecord
}

export interface LimitHit {
  key: string
  limit: keyof Limits
  used: number
  max: number
  error: ErrorRecord
}

/** The data of the kernel's events. Names given by the specifications are kept verbatim. */
export interface EventData {
  'run:start': RunStart
  /**
   * `needs` if this process, the first to execute the run, provides other parts than the one that started it; `models` if it uses other models
   * than the attempts before.
   */
  'run:attempt': { epoch: number; owner: string; needs?: object; models?: ModelChange[] }
  /** `cut` as in `run:cut`: of steps that an older version has worked out anew under other keys. */
  'run:reopen': { key: string | null; additional_keys?: string[]; limits: Limits; force?: true; cut?: string[] }
  /** After `run:reopen`: recorded steps that depend on a retried one. They are worked out anew, with all below them; one whose key ends with `/`, alone. */
  'run:cut': { keys: string[] }
  'run:park': { gates: string[] }
  'run:interrupt': { reason: string }
  /** The clock jumped forward: the machine was suspended, or the clock was set. That time is not working time. */
  'run:clock': { jump_ms: number }
  /** `by` is absent for `user`. */
  'run:cancel': { reason: string; by?: string }
  /** `command` is the id of the stored command, for deduplication. */
  'run:steer': SteeringCommand & { command: number }
  'run:end': RunEnd
  'session:open': SessionOpen
  /** `retry_keys` as in `tool:post`, of the results of background sessions that it delivers. */
  'session:input': { key: string; message: UserMessage; collected?: string[]; retry_keys?: string[] }
  'session:context': { key: string; message: UserMessage | null }
  'session:compress': SessionCompress
  'session:end': SessionEnd
  'model:begin': {
    key: string
    attempt: number
    model: string
    reserved: ReservedBudget
    /** The part of `reserved.tokens` that is output. */
    max_output?: number
    input_hash: string
    /** Set if the call is not a turn of the conversation. */
    phase?: 'summary'
    /** Set if `limits.usd` does not count the call, because the price of the model is unknown. */
    unpriced?: true
  }
  'model:end': ModelEnd
  'model:error': ModelError
  /** A call without an outcome, counted at what the provider can have charged: at most its reservation. */
  'model:lost': {
    key: string
    attempt: number
    reserved: ReservedBudget
    reason: 'crash' | 'abort'
    partial_text?: string
  }
  /** The id of a performer's own session, for resuming it. */
  'performer:session': { key: string; id: string }
  'performer:message': { key: string; message: AssistantMessage }
  'performer:plan': { key: string; entries: PlanEntry[] }
  'tool:pre': ToolPre
  'tool:post': ToolPost
  'tool:error': ToolError
  'tool:progress': ToolProgressData
  'step:begin': { key: string; kind: ToolKind }
  'step:end': { key: string; v: number; input_hash: string | null; result: unknown }
  'step:error': { key: string; v: number; input_hash: string | null; error: ErrorRecord }
  'step:drift': { key: string; recorded_hash: string; current_hash: string }
  'limit:hit': LimitHit
  'gate:open': Gate
  'gate:answer': GateAnswer
  'artifact:write': Artifact
}

/** The effect of an event on the step of its key. A pattern's event, declared in `PatternDefinition.events`, settles its key. */
const EVENT_ROLES: Readonly<Record<keyof EventData, 'opens' | 'settles' | 'notes'>> = {
  'run:start': 'notes',
  'run:attempt': 'notes',
  'run:reopen': 'notes',
  'run:cut': 'notes',
  'run:park': 'notes',
  'run:interrupt': 'notes',
  'run:clock': 'notes',
  'run:cancel': 'notes',
  'run:steer': 'notes',
  'run:end': 'notes',
  'session:open': 'opens',
  'session:input': 'settles',
  'session:context': 'settles',
  'session:compress': 'settles',
  'session:end': 'settles',
  'model:begin': 'opens',
  'model:end': 'settles',
  'model:error': 'settles',
  'model:lost': 'notes',
  'performer:session': 'settles',
  'performer:message': 'settles',
  'performer:plan': 'settles',
  'tool:pre': 'opens',
  'tool:post': 'settles',
  'tool:error': 'settles',
  'tool:progress': 'notes',
  'step:begin': 'opens',
  'step:end': 'settles',
  'step:error': 'settles',
  'step:drift': 'notes',
  'limit:hit': 'settles',
  'gate:open': 'opens',
  'gate:answer': 'settles',
  'artifact:write': 'settles',
}

export function isKernelEventType(type: string): type is keyof EventData {
  return Object.hasOwn(EVENT_ROLES, type)
}

export function eventRole(type: string): 'opens' | 'settles' | 'notes' {
  return isKernelEventType(type) ? EVENT_ROLES[type] : 'settles'
}

/** The type of an event that a pattern declares, such as `review:vote`. The brand keeps it apart from the kernel's types. */
export type PatternEventType = `custom:${string}` | (`${string}:${string}` & { readonly __pattern: true })
export type EventType = keyof EventData | PatternEventType
export type EventDataOf<T extends EventType> = T extends keyof EventData
  ? EventData[T]
  : { key: string; [field: string]: unknown }

/** One journal entry. */
export interface JournalEntry<Type, Data> {
  run_id: string
  /** From 1, without gaps. */
  seq: number
  at: number
  type: Type
  session_id?: string
  data: Data
}

export type EventOf<T extends EventType> = JournalEntry<T, EventDataOf<T>>
/** An event of a pattern, by the data of its types: `PatternEventOf<{ 'review:vote': { agent: string } }>`. */
export type PatternEventOf<Data> = { [T in keyof Data]: JournalEntry<T, Data[T] & { key: string }> }[keyof Data]

export type KnownEvent = { [T in keyof EventData]: EventOf<T> }[keyof EventData]
export type Event = KnownEvent | EventOf<PatternEventType>

export function isEvent<T extends keyof EventData>(
  event: Event | undefined,
  type: T,
): event is Extract<Event, EventOf<T>>
export function isEvent(event: Event | undefined, type: string): event is EventOf<PatternEventType>
export function isEvent(event: Event | undefined, type: string): boolean {
  return event?.type === type
}
