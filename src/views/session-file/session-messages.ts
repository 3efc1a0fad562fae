import type { Event } from '../../kernel/event.ts'
import { isPatternEvent } from '../../run-model/reduce-run.ts'
import type { AgentMessage } from './agent-session.ts'
import type { SessionFileContribution } from './pattern-contributions.ts'
import type { AgentIdentifier, SessionFileMessage } from './pattern-session-file.ts'
import { toIso } from './session-status.ts'
import type { SubSession } from './sub-sessions.ts'

interface PlacedMessage extends SessionFileMessage {
  at: number
  seq: number
}

export interface MessageSources {
  subs: readonly SubSession[]
  contributions: readonly SessionFileContribution[]
  /** The pattern of the run, if it contributes. */
  own: SessionFileContribution | undefined
  orchestrator: AgentIdentifier
}

/** All messages between agents, in order: those that patterns recorded, and one for each delegation and each of its results. */
export function messagesFrom(events: readonly Event[], sources: MessageSources): AgentMessage[] {
  const messages = [...patternMessages(events, sources), ...delegationMessages(sources)]
  const used = new Set<string>()
  return messages
    .toSorted((one, other) => one.seq - other.seq)
    .map(({ at, seq, message_id = `message-${seq}`, ...message }) => {
      const id = used.has(message_id) ? `${message_id}@${seq}` : message_id
      used.add(id)
      return { message_id: id, timestamp: toIso(at), ...message }
    })
}

function patternMessages(events: readonly Event[], { contributions }: MessageSources): PlacedMessage[] {
  const speaking = contributions.filter(({ source }) => source.message)
  return events.filter(isPatternEvent).flatMap((event) =>
    speaking.flatMap(({ events: types, source }) => {
      const message = types.has(event.type) ? source.message?.(event) : undefined
      return message ? { ...message, at: event.at, seq: event.seq } : []
    }),
  )
}

function delegationMessages({ subs, own, orchestrator }: MessageSources): PlacedMessage[] {
  const agents = new Map(subs.map(({ facts, record }) => [facts, record.agent]))
  return subs.flatMap(({ facts, record }) => {
    // The pattern recorded the messages of the sessions that it opened itself.
    if (own?.source.message && !facts.opener) return []
    const { sub_session_id, agent, task, output } = record
    const from = (facts.opener?.session && agents.get(facts.opener.session)) ?? orchestrator
    const common = { related_task_id: task.task_id, correlation_id: sub_session_id }
    const assignment: PlacedMessage = {
      message_id: `${sub_session_id}/assignment`,
      from_agent: from,
      to_agent: agent,
      message_type: 'task_assignment',
      content: { description: task.description },
      ...common,
      sequence_number: 1,
      at: facts.opened.at,
      seq: facts.opened.seq,
    }
    if (!facts.ended) return [assignment]
    const completion: PlacedMessage = {
      message_id: `${sub_session_id}/completion`,
      from_agent: agent,
      to_agent: from,
      message_type: 'task_completion',
      content: output ?? {},
      ...common,
      sequence_number: 2,
      reply_to: `${sub_session_id}/assignment`,
      at: facts.ended.at,
      seq: facts.ended.seq,
    }
    return [assignment, completion]
  })
}
