import type { Status, StopReason } from '../../kernel/event.ts'
import type { ToolCategory } from '../../kernel/tool.ts'
import type {
  AgentIdentifier,
  AgentType,
  CollaborationPattern,
  PhaseType,
  SessionFileMessage,
  TaskAssignment,
} from './pattern-session-file.ts'

/* The session file: one run as a record that other programs can read. Times are ISO 8601 in UTC. */

export type SessionStatus = 'success' | 'failed' | 'in_progress'

/** The delegation behind a tool call; `sub_session_id` links to the sub-session, whose `triggered_by_call_id` links back. */
export interface SubagentInfo {
  subagent_type: AgentType
  sub_session_id: string
  tool_uses: number
  tokens_used: number
}

/** One tool call. `call_id` is unique in the file: the key of the step in the journal. */
export interface ToolCallRecord {
  call_id: string
  tool_name: string
  tool_category: ToolCategory
  started_at: string
  /** Missing while the call is in progress, like `duration_ms`. */
  ended_at?: string | undefined
  duration_ms?: number | undefined
  input: { params: Record<string, unknown> }
  output: {
    status: SessionStatus
    result?: unknown
    error?: string | undefined
    /** The result in the journal is cut. */
    truncated?: boolean | undefined
  }
  subagent_info?: SubagentInfo | undefined
  /** Set for a delegation that a pattern made: no model called a tool for it. */
  made_by_pattern?: true | undefined
  /** The call of a pattern that made this delegation, one of several. */
  parent_call_id?: string | undefined
}

/** A part of the run; it may span several sub-sessions. */
export interface PhaseAnnotation {
  annotation_id: string
  phase_type: PhaseType
  started_at: string
  ended_at?: string | undefined
  /** The first and the last call that began in the phase, in any session of the file. */
  tool_call_range?: { start_call_id: string; end_call_id: string } | undefined
  annotated_by: 'agent' | 'human' | 'auto'
  annotated_at: string
  confidence: 'high' | 'medium' | 'low'
  description?: string | undefined
}

/** Figures of the whole run, with its sub-sessions. */
export interface SessionSummary {
  total_duration_ms: number
  tool_calls_count: number
  files_created: string[]
  files_modified: string[]
  files_deleted?: string[] | undefined
  /** Failed tool calls, and model requests that failed and were not retried. */
  errors_encountered?: number | undefined
}

/** The run behind the file, in the words of Troupe. */
export interface SessionRun {
  run_id: string
  pattern: string
  status: Status
  /** `null` until the run has ended. */
  stop_reason: StopReason | null
  error?: string | undefined
  /** Open questions to people. */
  waiting_for?: string[] | undefined
}

/** The session file of a single agent. */
export interface AgentSession {
  session_id: string
  task_title: string
  task_description?: string | undefined
  user_prompt: string
  created_at: string
  /** Missing while the run is in progress. */
  completed_at?: string | undefined
  status: SessionStatus
  agent: { model_id: string }
  tool_calls: ToolCallRecord[]
  phase_annotations?: PhaseAnnotation[] | undefined
  summary: SessionSummary
  run?: SessionRun | undefined
}

export interface CollaborationInfo {
  mode: 'single' | 'multi_agent'
  pattern: CollaborationPattern
  orchestrator: AgentIdentifier
  participants: AgentIdentifier[]
}

/** The result of a sub-session; developers and reviewers of a pattern have the fields of their contract besides. */
export interface SubSessionOutput {
  task_id: string
  /** Missing for a review, which has a verdict. */
  status?: 'completed' | 'partial' | 'failed' | undefined
  summary: string
  [field: string]: unknown
}

/** The work of one agent on one task. */
export interface SubAgentSession {
  sub_session_id: string
  parent_session_id: string
  agent: AgentIdentifier
  task: TaskAssignment
  started_at: string
  completed_at?: string | undefined
  status: SessionStatus
  tool_calls: ToolCallRecord[]
  output?: SubSessionOutput | undefined
  triggered_by_call_id: string
  model_id?: string | undefined
  stop_reason?: StopReason | undefined
  /** The sub-session that this one resumed, if it is in this file. */
  continues?: string | undefined
}

/** A message of a session file, with the id and the time of its event. */
export interface AgentMessage extends SessionFileMessage {
  message_id: string
  timestamp: string
}

/** The session file of several agents. */
export interface MultiAgentSession extends AgentSession {
  collaboration: CollaborationInfo
  sub_sessions: SubAgentSession[]
  messages: AgentMessage[]
}

/** Tells the session of several agents from that of one. */
export function isMultiAgentSession(session: AgentSession): session is MultiAgentSession {
  return (session as Partial<MultiAgentSession>).collaboration?.mode === 'multi_agent'
}

/** One thing that is wrong with a session file; `path` leads to it, such as `sub_sessions[0].triggered_by_call_id`. */
export interface SessionProblem {
  path: string
  message: string
}
