import type { ErrorRecord } from '../errors.ts'
import type { EventOf, PatternEventType, RunEnd, RunStart, SessionEnd, StopReason } from '../kernel/event.ts'
import type { PatternView } from './pattern-view.ts'

export interface SessionNode {
  kind: 'session'
  key: string
  session_id: string
  agent: string
  model: string | null
  segment: number
  depth: number
  status: 'running' | SessionEnd['status']
  stop_reason: StopReason | null
  instruction: string
  text: string
  error: ErrorRecord | null
  /** Model requests that ended or failed in this segment, and their tokens. */
  calls: number
  tokens: number
  /** Start time of the model request in flight. */
  model_call_since: number | null
  started_at: number
  ended_at: number | null
  children: RunNode[]
}

export interface ToolCallNode {
  kind: 'call'
  key: string
  tool: string
  delegates: boolean
  input: unknown
  status: 'running' | 'ok' | 'failed'
  error: ErrorRecord | null
  started_at: number
  ended_at: number | null
  children: RunNode[]
}

export interface GateNode {
  kind: 'gate'
  key: string
  gate_id: string
  question: string
  choices: string[] | null
  asked_by: string | null
  answer: unknown
  answered_by: string | null
  started_at: number
  ended_at: number | null
  children: RunNode[]
}

export type RunNode = SessionNode | ToolCallNode | GateNode

/** The view of a pattern, loaded. */
export interface LoadedView {
  name: string
  events: readonly string[]
  view: PatternView
}

/** A pattern's view and its state in this run. */
export interface PatternState {
  name: string
  events: ReadonlySet<string>
  view: PatternView
  state: unknown
}

export interface RunView {
  run_id: string
  start: RunStart | undefined
  started_at: number
  end: RunEnd | undefined
  ended_at: number | null
  children: RunNode[]
  byKey: Map<string, RunNode>
  /** The newest segment of each session, by session id. */
  sessions: Map<string, SessionNode>
  /** The states of the patterns' views, changed by `reduceRun`. */
  patterns: PatternState[]
  /** The latest events of patterns without a view here. */
  otherEvents: EventOf<PatternEventType>[]
  /** Models of unknown price that `limits.usd` does not count, with the seq of their first request. */
  unpriced: Map<string, number>
  calls: number
  input: number
  output: number
  /** Model requests whose usage was never reported. */
  estimated: number
  /** Model requests lost in a crash or an abort, with the tokens reserved for them. */
  lost: { calls: number; tokens: number }
}
