import * as z from '../../schema/zod.ts'
import type { AgentIdentifier, AgentMessageType } from '../../views/session-file/pattern-session-file.ts'
import { AGENT_MESSAGE_TYPES } from '../../views/session-file/pattern-session-file.ts'

/*
 * Messages between the agents of a build, for traceability: each is one event of the journal, whose time is its timestamp.
 * `sequence_number` counts within a conversation (`correlation_id`), because conversations run in parallel; the journal orders them all.
 */

const agentIdentifier = z.strictObject({
  agent_id: z.string(),
  agent_type: z.string(),
  instance_id: z.string().optional(),
})

export const agentMessage = z.strictObject({
  message_id: z.string(),
  sequence_number: z.int().min(1),
  correlation_id: z.string(),
  reply_to: z.string().optional(),
  from_agent: agentIdentifier,
  to_agent: agentIdentifier,
  message_type: z.enum(AGENT_MESSAGE_TYPES),
  content: z.unknown(),
  related_task_id: z.string().optional(),
})
export type BuildMessage = z.output<typeof agentMessage>

/** The content of a `status_update`: the state of a task or review changed without an answer of its agent. */
export interface StatusUpdate {
  state: 'merged' | 'not_merged' | 'not_started' | 'asked_again'
  summary: string
  head?: string
  files?: string[]
  depends_on?: string[]
}

/** A message before it has its place in the conversation. */
export interface MessageDraft {
  from: AgentIdentifier
  to: AgentIdentifier
  type: AgentMessageType
  content: unknown
  task_id?: string
  /** Default: the last message of the conversation that went the other way. */
  reply_to?: string
}

/** One conversation, such as the work on one task. Its messages are sent one after the other. */
export class AgentConversation {
  private readonly sent: BuildMessage[] = []
  readonly id: string
  private readonly emit: (key: string, message: BuildMessage) => void

  constructor(id: string, emit: (key: string, message: BuildMessage) => void) {
    this.id = id
    this.emit = emit
  }

  send({ from, to, type, content, task_id, reply_to }: MessageDraft): BuildMessage {
    const sequence_number = this.sent.length + 1
    const answered = reply_to ?? this.lastTo(from)
    const message: BuildMessage = {
      message_id: `${this.id}-${sequence_number}`,
      sequence_number,
      correlation_id: this.id,
      ...(answered === undefined ? undefined : { reply_to: answered }),
      from_agent: from,
      to_agent: to,
      message_type: type,
      content,
      ...(task_id === undefined ? undefined : { related_task_id: task_id }),
    }
    this.sent.push(message)
    this.emit(`messages/${message.message_id}`, message)
    return message
  }

  private lastTo(agent: AgentIdentifier): string | undefined {
    return this.sent.findLast(({ to_agent }) => to_agent.agent_id === agent.agent_id)?.message_id
  }
}
