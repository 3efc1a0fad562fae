import type { EventOf, PatternEventType } from '../../kernel/event.ts'

/* The part of a session file that only a pattern knows: who directs whom, messages, phases, tasks and outputs. */

/** How the agents of a run work together. */
export type CollaborationPattern = 'master_worker' | 'peer_to_peer' | 'pipeline'

/** The built-in types; every other name is valid, too. The type of an agent is `agent_type` of its file, or else its name. */
export type AgentType = 'architect' | 'developer' | 'reviewer' | (string & {})

/** An agent, or one of several instances of it. */
export interface AgentIdentifier {
  agent_id: string
  agent_type: AgentType
  instance_id?: string | undefined
}

export interface TaskAssignment {
  task_id: string
  description: string
  priority: 'high' | 'medium' | 'low'
  /** Ids of the tasks that come first. */
  dependencies?: string[] | undefined
}

export type AgentMessageType =
  | 'task_assignment'
  | 'task_completion'
  | 'task_progress'
  | 'review_request'
  | 'review_result'
  | 'feedback'
  | 'status_update'
  | 'abort'
  | 'acknowledgment'

export const AGENT_MESSAGE_TYPES = [
  ...(['task_assignment', 'task_completion', 'task_progress'] as const),
  ...(['review_request', 'review_result', 'feedback'] as const),
  ...(['status_update', 'abort', 'acknowledgment'] as const),
] as const satisfies readonly AgentMessageType[]

/** A message between agents; its event gives it a timestamp and, if it has none, an id. */
export interface SessionFileMessage {
  message_id?: string | undefined
  from_agent: AgentIdentifier
  to_agent: AgentIdentifier
  message_type: AgentMessageType
  content: unknown
  related_task_id?: string | undefined
  /** Counts within a conversation, which `correlation_id` names. */
  sequence_number?: number | undefined
  correlation_id?: string | undefined
  /** The message that this one answers. */
  reply_to?: string | undefined
}

export type PhaseType = 'understand' | 'explore' | 'plan' | 'execute' | 'verify' | 'mixed' | 'unclassified'

/** Files by what became of them. */
export interface SessionFileChanges {
  files_created: readonly string[]
  files_modified: readonly string[]
  files_deleted: readonly string[]
}

/** A session of the run, as the pattern finds it. */
export interface SessionFileEntry {
  key: string
  agent: AgentIdentifier
  instruction: string
}

/** The contribution of a pattern to the session files of its runs. All functions are pure. */
export interface PatternSessionFile<State = unknown, Event = EventOf<PatternEventType>> {
  collaboration(state: State, input: unknown): { pattern: CollaborationPattern; orchestrator?: AgentIdentifier }
  /** The text of the user in the input of the run, where it is none of the usual fields. */
  prompt?(input: unknown): string | undefined
  /** The message that an event records. With this function, only these are the messages of the pattern's own sessions. */
  message?(event: Event): SessionFileMessage | undefined
  /** The phase that begins with an event; it lasts until the next one. */
  phase?(event: Event): { phase_type: PhaseType; description: string } | undefined
  /** Details of one of the pattern's sessions. */
  session?(
    state: State,
    session: SessionFileEntry,
  ): { agent?: AgentIdentifier; task?: TaskAssignment; output?: Record<string, unknown> } | undefined
  /** The changes that are the result of the run. Default: those that tools reported. */
  changes?(state: State): SessionFileChanges | undefined
}
