import type { Agent, AgentOrigin } from '../../kernel/agent.ts'
import type { SubAgentSession, SubSessionOutput, ToolCallRecord } from './agent-session.ts'
import type { SessionFileContribution } from './pattern-contributions.ts'
import type { AgentIdentifier } from './pattern-session-file.ts'
import type { RunFacts, SegmentFacts } from './session-records.ts'
import { sessionStatus, taskStatus, toIso } from './session-status.ts'
import { toCallRecord, toDelegationRecord } from './tool-call-record.ts'

/** A sub-session with the facts it was made of. */
export interface SubSession {
  facts: SegmentFacts
  record: SubAgentSession
}

export interface SessionTree {
  /** Calls of the main session. */
  calls: ToolCallRecord[]
  subs: SubSession[]
}

interface TreeParts {
  facts: RunFacts
  /** The session that the file is about; without it, the run itself is. */
  main: SegmentFacts | undefined
  contributions: readonly SessionFileContribution[]
}

/** The sessions of a run and their calls, linked both ways: each sub-session by the one call that opened it. */
export function sessionTree({ facts, main, contributions }: TreeParts): SessionTree {
  const subs = toSubSessions({ facts, main, contributions })
  const records = new Map([...facts.calls.values()].map((call) => [call.key, toCallRecord(facts, call)]))
  const byParent = new Map<SegmentFacts | undefined, ToolCallRecord[]>()
  const addTo = (parent: SegmentFacts | undefined, record: ToolCallRecord) => {
    const owner = parent === main ? undefined : parent
    const known = byParent.get(owner)
    if (known) known.push(record)
    else byParent.set(owner, [record])
  }
  for (const call of facts.calls.values()) {
    const record = records.get(call.key)
    if (record) addTo(call.session, record)
  }
  for (const { facts: segment, record } of subs) {
    const isOnly = segment.opener?.opened.length === 1
    const call = (isOnly && records.get(segment.opener?.key ?? '')) || toDelegationRecord(facts, segment)
    if (call.made_by_pattern) addTo(segment.opener?.session, call)
    record.triggered_by_call_id = call.call_id
    call.subagent_info = {
      subagent_type: record.agent.agent_type,
      sub_session_id: record.sub_session_id,
      tool_uses: segment.calls.length,
      tokens_used: segment.tokens,
    }
  }
  for (const { facts: segment, record } of subs) record.tool_calls = inOrder(byParent.get(segment) ?? [])
  return { calls: inOrder(byParent.get(undefined) ?? []), subs }
}

function inOrder(calls: readonly ToolCallRecord[]): ToolCallRecord[] {
  return calls.toSorted((one, other) => Date.parse(one.started_at) - Date.parse(other.started_at))
}

function toSubSessions({ facts, main, contributions }: TreeParts): SubSession[] {
  const ids = new Map<SegmentFacts | undefined, string>([
    [undefined, facts.run_id],
    [main, facts.run_id],
  ])
  const latest = new Map<string, string>()
  const used = new Map<string, number>()
  return [...facts.segments.values()]
    .filter((segment) => segment !== main)
    .map((segment) => {
      const count = (used.get(segment.session_id) ?? 0) + 1
      used.set(segment.session_id, count)
      const id = count === 1 ? segment.session_id : `${segment.session_id}#${count}`
      const continues = latest.get(segment.session_id)
      ids.set(segment, id)
      latest.set(segment.session_id, id)
      const record = toSubSession(facts, segment, {
        sub_session_id: id,
        parent_session_id: ids.get(segment.opener?.session) ?? facts.run_id,
        contributions,
      })
      return { facts: segment, record: continues === undefined ? record : { ...record, continues } }
    })
}

interface SubSessionPlace {
  sub_session_id: string
  parent_session_id: string
  contributions: readonly SessionFileContribution[]
}

function toSubSession(facts: RunFacts, segment: SegmentFacts, place: SubSessionPlace): SubAgentSession {
  const { sub_session_id, parent_session_id, contributions } = place
  const { key, end, instruction } = segment
  const agent = { ...identifyAgent(segment.agent), instance_id: segment.session_id }
  const known = contributions
    .map(({ source, state }) => source.session?.(state, { key, agent, instruction }))
    .find((details) => details !== undefined)
  const task = known?.task ?? { task_id: sub_session_id, description: instruction, priority: 'medium' as const }
  const ended_at = segment.ended?.at ?? (facts.end ? facts.last_at : undefined)
  const output = (known?.output as SubSessionOutput | undefined) ?? toOutput(task.task_id, segment)
  return {
    sub_session_id,
    parent_session_id,
    agent: known?.agent ?? agent,
    task,
    started_at: toIso(segment.opened.at),
    ...(ended_at === undefined ? undefined : { completed_at: toIso(ended_at) }),
    status: sessionStatus(facts, end),
    tool_calls: [],
    ...(output ? { output } : undefined),
    triggered_by_call_id: '',
    ...(segment.model === undefined ? undefined : { model_id: segment.model }),
    ...(end ? { stop_reason: end.stop_reason } : undefined),
  }
}

function toOutput(task_id: string, { end }: SegmentFacts): SubSessionOutput | undefined {
  if (!end) return undefined
  return {
    task_id,
    status: taskStatus(end),
    summary: end.text,
    ...(end.object === undefined ? undefined : { data: end.object }),
    ...(end.error ? { error: end.error.message } : undefined),
  }
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
