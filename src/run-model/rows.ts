import type { Status, StopReason, ToolPre } from '../kernel/event.ts'

/*
 * The rows of a run: what happened when, as tables of flat rows that are shown without interpreting events.
 * 1. Every row has an `id`, unique in its table. A change replaces the whole row; rows are never removed.
 * 2. `seq` is the event that made the row and `ended_seq` the one that ended it. A row ends once: what begins again after it ended (a retry, a resumed
 *    session, a reopened run) has a new row, whose id ends in `#2`, `#3`, …. So the state at any earlier event follows from the final rows: a row
 *    with a later `ended_seq` was running then, or waiting if an open gate names it.
 * 3. Times never go back, even when the clock did: order follows `seq`, and no span is negative.
 * 4. Texts are cut to the length that a page shows at a glance; `detailFrom` has them whole.
 */

/** A time range; `ended_at` and `ended_seq` are `null` while it grows. */
export interface TimelineSpan {
  seq: number
  ended_seq: number | null
  started_at: number
  ended_at: number | null
}

export interface TimelineTokens {
  input: number
  output: number
  /** The part of `input` that was read from the provider's cache. */
  cached: number
}

/** The run itself; there is one row. */
export interface TimelineRun extends TimelineSpan {
  id: string
  pattern: string
  title: string
  tags: readonly string[]
  status: Status
  stop_reason: StopReason | null
  error: string | null
  /** The last event that is part of this timeline. */
  head: number
  /** Time in which the run worked, without the pauses. */
  active_ms: number
  /** Tool calls. */
  calls: number
  /** Model requests that ended or failed, without those that a fork inherited; so are `tokens`, `usd` and `known_usd`. */
  requests: number
  tokens: TimelineTokens
  /** `null` when a price is unknown; `known_usd` is the sum of the known ones. */
  usd: number | null
  known_usd: number
  /** `calls` limits `requests`. */
  limits: { calls: number | null; tokens: number | null; usd: number | null } | null
  /** The first `inherited` events are copies from the other run, which paid for them. */
  forked_from: { run_id: string; seq: number; inherited: number } | null
  open_gates: number
  /** Progress in the words of the pattern, such as `3 of 5 tasks`; `share` is from 0 to 1. */
  progress: { text: string; share: number | null } | null
  /** Whether the pattern can be steered (say, override, set, pause). */
  steerable: boolean
}

/** One lane per agent; an agent with several sessions at the same time has several lanes. In order of appearance. */
export interface TimelineLane {
  /** The name of the agent and, from its second lane on, `#` and the number. */
  id: string
  seq: number
  agent: string
  /** 1 for the first lane of the agent. */
  ordinal: number
  /** `developer`, or `developer-1` and `developer-2` if the agent has several lanes. */
  label: string
  /** The lane of the session that opened the first session here. */
  parent: string | null
  depth: number
  model: string | null
  /** Where the agent is from, such as `built-in` or a file. */
  origin: string | null
}

export interface TimelineSession extends TimelineSpan {
  /** The session id and, from the second segment on, `#` and a number. */
  id: string
  session_id: string
  /** The step key. */
  key: string
  lane: string
  /** The row of the session that opened it. */
  parent: string | null
  /** The call that opened it. */
  call: string | null
  /** The sessions that one response or one pattern opened and that ran at the same time. */
  group: string | null
  /** Its opener goes on while it works. */
  background: boolean
  title: string
  /** `waiting` while a person is asked on its behalf. */
  status: Exclude<Status, 'pending'>
  stop_reason: StopReason | null
  /** The result in a few words, such as `3 findings`. */
  result: string | null
  /** Set by patterns that vote: the position, and whether it won. */
  vote: { text: string; won: boolean | null } | null
}

/** A model request with its tool calls, the turn of an external agent, or the request that compacts a conversation. */
export interface TimelineTurn extends TimelineSpan {
  /** The step key and, if it began again, `#` and a number. */
  id: string
  phase: 'turn' | 'summary' | 'performer'
  session: string
  lane: string
  /** Counts the turns of the session. */
  number: number
  /** The first words of the response, or the tools that it calls. */
  title: string
  model: string
  /** `lost` if a crash or an abort left it without a response. */
  status: 'running' | 'ok' | 'failed' | 'lost'
  /** Requests that were sent. */
  attempts: number
  tokens: TimelineTokens
  /** With the price of the day. `null` when a price is unknown. */
  usd: number | null
  /** The end of the response itself; the turn ends with its last call. */
  responded_at: number | null
  responded_seq: number | null
}

export interface TimelineCall extends TimelineSpan {
  /** The step key and, if it began again, `#` and a number. */
  id: string
  turn: string | null
  session: string
  lane: string
  /** Counts the calls of the run. */
  number: number
  tool: string
  /** `null` before the call is allowed, and if it failed before it began. */
  category: ToolPre['category'] | null
  kind: ToolPre['kind'] | null
  /** `waiting` while a person is asked about it. */
  status: 'running' | 'waiting' | 'ok' | 'failed'
  /** The file, command, address or agent that it is about. */
  target: string
  /** The error in a few words. */
  error: string | null
  /** Files that it changed. */
  files: number
}

export interface TimelineGate extends TimelineSpan {
  /** The gate id and, if it opens again with the run, `#` and a number. */
  id: string
  /** The id for its answer. */
  gate_id: string
  lane: string | null
  session: string | null
  call: string | null
  question: string
  choices: readonly string[] | null
  asked_by: string | null
  answer: string | null
  answered_by: string | null
}

export interface TimelineLink extends TimelineSpan {
  id: string
  kind: 'delegation' | 'handoff' | 'message' | 'dependency' | 'consultation'
  /** Lanes; `null` is the run or a person. */
  from: string | null
  to: string | null
  from_session: string | null
  to_session: string | null
  call: string | null
  group: string | null
  /** The rule of a handoff, the task of a delegation. */
  label: string
}

/** A step of the workflow, such as `Plan` or `Review 1`. */
export interface TimelinePhase extends TimelineSpan {
  id: string
  title: string
}

export interface TimelineMessage {
  id: string
  seq: number
  at: number
  /** Lanes; `null` is the run or a person. */
  from: string | null
  to: string | null
  /** Such as `task_assignment`, `question`, `answer`, `handoff`. */
  type: string
  text: string
  /** The place that it belongs to. */
  ref: TimelineRef | null
}

/** A time in which the run waited for a person, nobody executed it, or a session was blocked. */
export interface TimelinePause extends TimelineSpan {
  id: string
  kind: 'waiting' | 'interrupted' | 'blocked'
  session: string | null
  text: string
}

/** Something a person should know: a stall, a loop, a limit, a clock that jumped, an event of an unknown type. */
export interface TimelineNotice {
  id: string
  seq: number
  at: number
  kind: 'stall' | 'loop' | 'limit' | 'clock' | 'unknown_event' | 'lost' | 'note'
  text: string
  session: string | null
}

/** A place in a run, as in its address: `turn:KEY`, `call:KEY`, `agent:LANE`. */
export interface TimelineRef {
  kind: 'agent' | 'session' | 'turn' | 'call' | 'gate' | 'message' | 'delegation' | 'handoff' | 'vote' | 'event'
  id: string
}

export interface TimelineTables {
  run: TimelineRun
  lanes: TimelineLane
  sessions: TimelineSession
  turns: TimelineTurn
  calls: TimelineCall
  gates: TimelineGate
  links: TimelineLink
  phases: TimelinePhase
  messages: TimelineMessage
  pauses: TimelinePause
  notices: TimelineNotice
}

export type TimelineTable = keyof TimelineTables

/** The rows as the model keeps them, with the event at which each changed last. */
export type ModelRows = { [Table in TimelineTable]: TimelineTables[Table] & { changed_seq: number } }

/** All rows; those of a table are in the order in which they were made. */
export type Timeline = { [Table in TimelineTable]: TimelineTables[Table][] }

/** The rows that changed with the events up to `seq`. */
export interface TimelineChanges {
  seq: number
  rows: { [Table in TimelineTable]?: TimelineTables[Table][] }
}

export const TIMELINE_TABLES = [
  ...(['run', 'lanes', 'sessions', 'turns', 'calls', 'gates'] as const),
  ...(['links', 'phases', 'messages', 'pauses', 'notices'] as const),
] as const satisfies readonly TimelineTable[]

export function mapTables<T>(value: (table: TimelineTable) => T): Record<TimelineTable, T> {
  return Object.fromEntries(TIMELINE_TABLES.map((table) => [table, value(table)])) as Record<TimelineTable, T>
}
