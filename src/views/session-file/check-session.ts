import type { core } from '../../schema/zod.ts'
import { safeParse } from '../../schema/zod.ts'
import type { AgentSession, MultiAgentSession, SessionProblem, ToolCallRecord } from './agent-session.ts'
import { isMultiAgentSession } from './agent-session.ts'
import { agentSession, multiAgentSession } from './session-schema.ts'

/** Everything that is wrong with a session file: first its schema, then its links. Empty for a valid file. */
export function findSessionProblems(value: unknown): SessionProblem[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject)
    return [{ path: '', message: 'is not an object: a session file is one AgentSession or MultiAgentSession' }]
  const schema = 'collaboration' in value ? multiAgentSession : agentSession
  const parsed = safeParse(schema, value)
  if (!parsed.success) return parsed.error.issues.map((issue) => toProblem(issue, value))
  const session = value as AgentSession
  return [
    ...endProblems(session),
    ...callProblems(session.tool_calls, 'tool_calls'),
    ...(isMultiAgentSession(session) ? linkProblems(session) : []),
  ]
}

function toProblem({ path, message }: core.$ZodIssue, file: object): SessionProblem {
  const found = path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part], file)
  return { path: formatPath(path), message: found === undefined ? 'is missing' : message }
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('')
}

function endProblems({ status, completed_at }: AgentSession): SessionProblem[] {
  if (status === 'in_progress' || completed_at !== undefined) return []
  return [{ path: 'completed_at', message: `is missing, although \`status\` is ${status}` }]
}

function callProblems(calls: readonly ToolCallRecord[], path: string): SessionProblem[] {
  const seen = new Set<string>()
  return calls.flatMap(({ call_id, output, started_at, ended_at }, index) => {
    const problems: SessionProblem[] = []
    const at = `${path}[${index}]`
    if (seen.has(call_id))
      problems.push({ path: `${at}.call_id`, message: `'${call_id}' is used twice in this session` })
    seen.add(call_id)
    if (output.status !== 'in_progress' && ended_at === undefined)
      problems.push({ path: `${at}.ended_at`, message: `is missing, although \`output.status\` is ${output.status}` })
    if (ended_at !== undefined && Date.parse(ended_at) < Date.parse(started_at))
      problems.push({ path: `${at}.ended_at`, message: 'is before `started_at`' })
    return problems
  })
}

interface Link {
  path: string
  call: ToolCallRecord
}

/** Sub-sessions and calls refer to each other: each to one that exists, and that refers back. */
function linkProblems(session: MultiAgentSession): SessionProblem[] {
  const { session_id, sub_sessions, messages } = session
  const links = new Map([[session_id, linksOf(session.tool_calls, 'tool_calls')]])
  const problems: SessionProblem[] = []
  for (const [index, sub] of sub_sessions.entries()) {
    const path = `sub_sessions[${index}]`
    if (links.has(sub.sub_session_id))
      problems.push({ path: `${path}.sub_session_id`, message: `'${sub.sub_session_id}' is used twice in the file` })
    links.set(sub.sub_session_id, linksOf(sub.tool_calls, `${path}.tool_calls`))
    problems.push(...callProblems(sub.tool_calls, `${path}.tool_calls`))
  }
  for (const [index, sub] of sub_sessions.entries()) {
    const path = `sub_sessions[${index}]`
    const parent = links.get(sub.parent_session_id)
    const call = parent?.find((link) => link.call.call_id === sub.triggered_by_call_id)?.call
    if (!parent)
      problems.push({ path: `${path}.parent_session_id`, message: `no session '${sub.parent_session_id}' in the file` })
    else if (!call)
      problems.push({
        path: `${path}.triggered_by_call_id`,
        message: `no call '${sub.triggered_by_call_id}' in the parent session '${sub.parent_session_id}'`,
      })
    else if (call.subagent_info?.sub_session_id !== sub.sub_session_id)
      problems.push({
        path: `${path}.triggered_by_call_id`,
        message: `the call '${call.call_id}' does not link back: its \`subagent_info.sub_session_id\` is ${call.subagent_info?.sub_session_id ?? 'missing'}`,
      })
  }
  return [...problems, ...danglingCalls(session, [...links.values()].flat()), ...messageProblems(messages)]
}

function linksOf(calls: readonly ToolCallRecord[], path: string): Link[] {
  return calls.map((call, index) => ({ path: `${path}[${index}]`, call }))
}

function danglingCalls({ sub_sessions }: MultiAgentSession, links: readonly Link[]): SessionProblem[] {
  const byId = new Map(sub_sessions.map((sub) => [sub.sub_session_id, sub]))
  return links.flatMap(({ path, call }) => {
    const target = call.subagent_info?.sub_session_id
    if (target === undefined) return []
    const sub = byId.get(target)
    const at = `${path}.subagent_info.sub_session_id`
    if (!sub) return [{ path: at, message: `no sub-session '${target}' in the file` }]
    if (sub.triggered_by_call_id === call.call_id) return []
    return [
      { path: at, message: `the sub-session '${target}' was triggered by another call: ${sub.triggered_by_call_id}` },
    ]
  })
}

function messageProblems(messages: MultiAgentSession['messages']): SessionProblem[] {
  const ids = new Set<string>()
  const duplicates = messages.flatMap(({ message_id }, index) => {
    const isDuplicate = ids.has(message_id)
    ids.add(message_id)
    return isDuplicate ? { path: `messages[${index}].message_id`, message: `'${message_id}' is used twice` } : []
  })
  const unanswered = messages.flatMap(({ reply_to }, index) =>
    reply_to === undefined || ids.has(reply_to)
      ? []
      : { path: `messages[${index}].reply_to`, message: `no message '${reply_to}' in the file` },
  )
  return [...duplicates, ...unanswered]
}
