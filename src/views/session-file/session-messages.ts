import { isPatternEvent } from '../run-view.ts'
import type { AgentMessage, PhaseAnnotation, ToolCallRecord } from './agent-session.ts'
import type { FileScope } from './file-scope.ts'
import { toIso } from './file-scope.ts'
import type { AgentIdentifier, SessionFileMessage } from './pattern-session-file.ts'
import type { SubSession } from './sub-sessions.ts'

interface PlacedMessage extends SessionFileMessage {
  at: number
  seq: number
}

/** All messages between agents, in order: those that patterns recorded, and one for each delegation and each of its results. */
export function messagesFrom(
  scope: FileScope,
  { subs, orchestrator }: { subs: readonly SubSession[]; orchestrator: AgentIdentifier },
): AgentMessage[] {
  const agents = new Map(subs.map(({ session, record }) => [session, record.agent]))
  // The pattern recorded the messages of the sessions that it opened itself.
  const delegated = scope.own?.source.message ? subs.filter(({ session }) => session.caller) : subs
  const messages = [
    ...patternMessages(scope),
    ...delegated.flatMap((sub) => {
      const caller = sub.session.caller?.session
      return delegationMessages(sub, (caller && agents.get(caller)) ?? orchestrator)
    }),
  ]
  const used = new Set<string>()
  return messages
    .toSorted((one, other) => one.seq - other.seq)
    .map(({ at, seq, message_id = `message-${seq}`, ...message }) => {
      const id = used.has(message_id) ? `${message_id}@${seq}` : message_id
      used.add(id)
      return { message_id: id, timestamp: toIso(at), ...message }
    })
}

function patternMessages({ events, contributions }: FileScope): PlacedMessage[] {
  return events.filter(isPatternEvent).flatMap((event) =>
    contributions.flatMap(({ events: types, source }) => {
      const message = types.has(event.type) ? source.message?.(event) : undefined
      return message ? { ...message, at: event.at, seq: event.seq } : []
    }),
  )
}

function delegationMessages({ session, record }: SubSession, from: AgentIdentifier): PlacedMessage[] {
  const { sub_session_id, agent, task, output } = record
  const common = { related_task_id: task.task_id, correlation_id: sub_session_id }
  const assignment: PlacedMessage = {
    message_id: `${sub_session_id}/assignment`,
    from_agent: from,
    to_agent: agent,
    message_type: 'task_assignment',
    content: { description: task.description },
    ...common,
    sequence_number: 1,
    at: session.started_at,
    seq: session.opened_seq,
  }
  if (session.ended_at === null || session.ended_seq === null) return [assignment]
  const completion: PlacedMessage = {
    message_id: `${sub_session_id}/completion`,
    from_agent: agent,
    to_agent: from,
    message_type: 'task_completion',
    content: output ?? {},
    ...common,
    sequence_number: 2,
    reply_to: `${sub_session_id}/assignment`,
    at: session.ended_at,
    seq: session.ended_seq,
  }
  return [assignment, completion]
}

/** The phases that the pattern of the run records. */
export function phasesFrom({ events, own, ended_at }: FileScope, calls: readonly ToolCallRecord[]): PhaseAnnotation[] {
  const phases = events.filter(isPatternEvent).flatMap((event) => {
    const phase = own?.events.has(event.type) ? own.source.phase?.(event) : undefined
    return phase ? { ...phase, at: event.at } : []
  })
  const ordered = calls.toSorted((one, other) => Date.parse(one.started_at) - Date.parse(other.started_at))
  return phases.map(({ phase_type, description, at }, index) => {
    const isLast = index === phases.length - 1
    const end = phases[index + 1]?.at ?? ended_at
    const inside = ordered.filter(({ started_at }) => {
      const time = Date.parse(started_at)
      return time >= at && (isLast || time < (end ?? Number.POSITIVE_INFINITY))
    })
    const [first, last] = [inside[0], inside.at(-1)]
    return {
      annotation_id: `phase-${index + 1}`,
      phase_type,
      started_at: toIso(at),
      ...(end === undefined ? undefined : { ended_at: toIso(end) }),
      ...(first && last ? { tool_call_range: { start_call_id: first.call_id, end_call_id: last.call_id } } : undefined),
      annotated_by: 'auto' as const,
      annotated_at: toIso(at),
      confidence: 'high' as const,
      description,
    }
  })
}
