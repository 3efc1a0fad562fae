import type { Agent, AgentOrigin } from '../../kernel/agent.ts'
import type { SessionEnd } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { isEarlierAttempt } from '../../run-model/step-tree.ts'
import { withoutFileData } from '../attachment-list.ts'
import type { SessionNode, ToolCallNode } from '../run-view.ts'
import type { SubAgentSession, SubSessionOutput, ToolCallRecord } from './agent-session.ts'
import type { FileScope } from './file-scope.ts'
import { segmentEnd, sessionStatus, toIso } from './file-scope.ts'
import type { AgentIdentifier } from './pattern-session-file.ts'

/** A sub-session with the session that it was made of. */
export interface SubSession {
  session: SessionNode
  record: SubAgentSession
}

export interface SessionTree {
  /** Calls of the main session. */
  calls: ToolCallRecord[]
  subs: SubSession[]
}

/**
 * The sessions of a run and their calls, linked both ways: each sub-session by the one call that opened it. Without a `main` session, the file is about
 * the run itself.
 */
export function sessionTree(scope: FileScope, main: SessionNode | undefined): SessionTree {
  const { calls, sessions } = scope
  const subs = toSubSessions(scope, main)
  const records = new Map(calls.map((call) => [call, toCallRecord(scope, call)]))
  const callsOf = Map.groupBy(calls, ({ session }) => session)
  const openedBy = Map.groupBy(sessions, ({ caller }) => caller)
  const byOwner = new Map<SessionNode | undefined, ToolCallRecord[]>([[undefined, []]])
  for (const { session } of subs) byOwner.set(session, [])
  const addTo = (owner: SessionNode | undefined, record: ToolCallRecord) =>
    (byOwner.get(owner) ?? byOwner.get(undefined))?.push(record)
  for (const [call, record] of records) addTo(call.session, record)
  for (const { session, record } of subs) {
    const { caller } = session
    const only = caller && openedBy.get(caller)?.length === 1 ? records.get(caller) : undefined
    const call = only ?? toDelegationRecord(scope, session)
    if (!only) addTo(caller?.session, call)
    record.triggered_by_call_id = call.call_id
    call.subagent_info = {
      subagent_type: record.agent.agent_type,
      sub_session_id: record.sub_session_id,
      tool_uses: callsOf.get(session)?.length ?? 0,
      tokens_used: session.tokens,
    }
  }
  for (const { session, record } of subs) record.tool_calls = inOrder(byOwner.get(session) ?? [])
  return { calls: inOrder(byOwner.get(undefined) ?? []), subs }
}

function inOrder(calls: readonly ToolCallRecord[]): ToolCallRecord[] {
  return calls.toSorted((one, other) => Date.parse(one.started_at) - Date.parse(other.started_at))
}

function toSubSessions(scope: FileScope, main: SessionNode | undefined): SubSession[] {
  const run_id = scope.model.run.id
  const ids = new Map<SessionNode | undefined, string>([[main, run_id]])
  const segments = new Map<string, string[]>()
  return scope.sessions
    .filter((session) => session !== main)
    .map((session) => {
      const { session_id } = session
      const earlier = segments.get(session_id) ?? []
      const id = earlier.length === 0 ? session_id : `${session_id}#${earlier.length + 1}`
      const continues = earlier.at(-1)
      segments.set(session_id, [...earlier, id])
      ids.set(session, id)
      const parent_session_id = ids.get(session.caller?.session) ?? run_id
      const record = toSubSession(scope, session, { sub_session_id: id, parent_session_id })
      return { session, record: continues === undefined ? record : { ...record, continues } }
    })
}

function toSubSession(
  scope: FileScope,
  session: SessionNode,
  ids: Pick<SubAgentSession, 'sub_session_id' | 'parent_session_id'>,
): SubAgentSession {
  const { key, instruction, session_id, data, started_at, sent_to } = session
  const end = segmentEnd(scope, session)
  const agent = { ...identifyAgent(data.agent), instance_id: session_id }
  // What the pattern tells about a key is about its newest session.
  const contributions = isEarlierAttempt(scope.model, session) ? [] : scope.contributions
  const known = contributions
    .map(({ source, state }) => source.session?.(state, { key, agent, instruction }))
    .find((details) => details !== undefined)
  const task = known?.task ?? { task_id: ids.sub_session_id, description: instruction, priority: 'medium' as const }
  const ended_at = session.ended_at ?? scope.ended_at
  const output = (known?.output as SubSessionOutput | undefined) ?? (end && toOutput(task.task_id, end))
  return {
    ...ids,
    agent: known?.agent ?? agent,
    task,
    started_at: toIso(started_at),
    ...(ended_at === undefined ? undefined : { completed_at: toIso(ended_at) }),
    status: sessionStatus(scope, session),
    tool_calls: [],
    ...(output ? { output } : undefined),
    triggered_by_call_id: '',
    ...(sent_to === undefined ? undefined : { model_id: sent_to }),
    ...(end ? { stop_reason: end.stop_reason } : undefined),
  }
}

function toOutput(task_id: string, end: SessionEnd): SubSessionOutput {
  return {
    task_id,
    status: taskStatus(end),
    summary: end.text,
    ...(end.object === undefined ? undefined : { data: end.object }),
    ...(end.error ? { error: end.error.message } : undefined),
  }
}

const LIMIT_REASONS: readonly string[] = ['partial', 'max_turns', 'budget', 'timeout']

/** The status of a task in the words of its contract. */
function taskStatus({ status, stop_reason, text }: SessionEnd): 'completed' | 'partial' | 'failed' {
  if (status === 'completed') return stop_reason === 'completed' ? 'completed' : 'partial'
  return LIMIT_REASONS.includes(stop_reason) && text.trim() !== '' ? 'partial' : 'failed'
}

/** Agents that are defined in a call have the type `default`: calls add no types. */
export function identifyAgent({ name, origin, extra }: Agent): AgentIdentifier {
  const declared = extra?.agent_type
  const own = isDefinedInCall(origin) ? 'default' : name
  return { agent_id: name, agent_type: typeof declared === 'string' && declared !== '' ? declared : own }
}

/** Agents of programs have no origin, those of files a path or a dialect. */
function isDefinedInCall(origin: AgentOrigin | undefined): boolean {
  if (origin?.by === 'user') return origin.path === undefined && origin.dialect === undefined
  return origin?.by === 'model'
}

const INTERRUPTED = 'interrupted: the run ended before the call had a result'

/** A tool call of a model. A call without a result in a run that has ended was interrupted. */
function toCallRecord(scope: FileScope, call: ToolCallNode): ToolCallRecord {
  const begin = scope.eventAt(call.begun_seq)
  return {
    call_id: scope.callId(call),
    tool_name: call.tool,
    tool_category: call.row.category ?? 'action',
    ...timesOf(begin?.at ?? call.started_at, call.ended_at ?? scope.ended_at),
    input: { params: isEvent(begin, 'tool:pre') ? toParams(withoutFileData(begin.data.input)) : {} },
    output: toCallOutput(scope, call),
  }
}

function toCallOutput({ eventAt, ended_at }: FileScope, { ended_seq }: ToolCallNode): ToolCallRecord['output'] {
  const end = eventAt(ended_seq)
  if (isEvent(end, 'tool:post')) {
    const result = withoutFileData(end.data.output)
    const truncated = end.data.truncated ? { truncated: true } : undefined
    return { status: 'success', ...(result === undefined ? undefined : { result }), ...truncated }
  }
  if (isEvent(end, 'tool:error')) {
    const result = withoutFileData(end.data.output) ?? undefined
    return { status: 'failed', ...(result === undefined ? undefined : { result }), error: end.data.error }
  }
  return ended_at === undefined ? { status: 'in_progress' } : { status: 'failed', error: INTERRUPTED }
}

/** The delegation of a pattern, which opens sessions without a tool call or several in one. */
function toDelegationRecord(scope: FileScope, session: SessionNode): ToolCallRecord {
  const { caller, agent, instruction, started_at, text, error } = session
  const end = segmentEnd(scope, session)
  return {
    call_id: scope.callId(session),
    tool_name: caller?.tool ?? scope.model.start?.pattern ?? 'unknown',
    tool_category: 'task_management',
    ...timesOf(started_at, session.ended_at ?? scope.ended_at),
    input: { params: { agent, instruction } },
    output: {
      status: sessionStatus(scope, session),
      ...(end ? { result: text } : undefined),
      ...(error ? { error: error.message } : undefined),
    },
    made_by_pattern: true,
    ...(caller ? { parent_call_id: scope.callId(caller) } : undefined),
  }
}

function timesOf(started_at: number, ended_at: number | undefined) {
  const end = ended_at === undefined ? undefined : { ended_at: toIso(ended_at), duration_ms: ended_at - started_at }
  return { started_at: toIso(started_at), ...end }
}

/** Arguments that are no object, as a model may write them, under the name `value`. */
function toParams(input: unknown): Record<string, unknown> {
  if (input === undefined) return {}
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return isObject ? (input as Record<string, unknown>) : { value: input }
}
