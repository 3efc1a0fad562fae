import { USER } from '../../judgement/team/team-schema.ts'
import type { Attachment } from '../../kernel/attachment.ts'
import { attachmentText } from '../../kernel/attachment.ts'
import type { FilePart, TextPart, UserMessage } from '../../kernel/model.ts'
import { userMessage } from '../../kernel/model.ts'
import { escapeTemplateMarks } from '../../kernel/template-marks.ts'

/** A message of the conversation. Prevents prompt injection: it is sent as JSON, so that no text can impersonate a speaker. */
export interface TeamMessage {
  from: string
  round?: number
  text?: string
  artifacts?: readonly string[]
  attachments?: readonly Attachment[]
  error?: string
  /** Set when the answer is incomplete. */
  stop_reason?: string
  /** Set when a person answered for this member. */
  person?: true
  /** Replaces older messages. */
  summary?: string
  decisions?: readonly string[]
}

/** What a person said to the team, in this round if there was one. */
export function toUserTeamMessage(round: number, said: Pick<TeamMessage, 'text' | 'attachments'>): TeamMessage {
  return { from: USER, ...(round > 0 ? { round } : undefined), ...said }
}

/** Prevents prompt injection: neither quotes nor the marks of a chat template end the quotation. */
export function quoteJson(value: unknown): string {
  return escapeTemplateMarks(JSON.stringify(value))
}

/** The message as text, with the names of its attachments. */
export function formatTeamMessage({ artifacts = [], attachments = [], ...message }: TeamMessage): string {
  return quoteJson({
    ...message,
    ...(artifacts.length > 0 ? { artifacts } : undefined),
    ...(attachments.length > 0 ? { attachments: attachments.map(({ name }) => name) } : undefined),
  })
}

export function toUserMessage(message: TeamMessage): UserMessage {
  const { role, content } = userMessage(formatTeamMessage(message))
  return { role, content: [...content, ...(message.attachments ?? []).map(toMessagePart)] }
}

/** Prevents prompt injection: a text file is JSON, too, so that no line in it can impersonate a speaker. */
function toMessagePart(attachment: Attachment): TextPart | FilePart {
  const text = attachmentText(attachment)
  if (text === undefined) return { type: 'file', ...attachment }
  return { type: 'text', text: quoteJson({ attachment: attachment.name, text }) }
}
