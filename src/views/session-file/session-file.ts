import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { withoutFileData } from '../attachment-list.ts'
import type { LoadedView } from '../run-view.ts'
import type { AgentSession, MultiAgentSession, SessionRun, SessionSummary, ToolCallRecord } from './agent-session.ts'
import { changedFiles } from './file-changes.ts'
import type { FileScope, SessionFileContribution } from './file-scope.ts'
import { fileScope, toIso, toSessionStatus } from './file-scope.ts'
import type { AgentIdentifier, CollaborationPattern } from './pattern-session-file.ts'
import { messagesFrom, phasesFrom } from './session-messages.ts'
import type { SubSession } from './sub-sessions.ts'
import { identifyAgent, sessionTree } from './sub-sessions.ts'

/*
 * A run as a session file. The file is about the first agent of a run whose pattern opens one session; otherwise it is about the
 * run, and each session that the pattern opened is a sub-session. `session_id` is the id of the run.
 */

/** The session file of a journal. `troupe.exportSession` adds what the views of patterns contribute. */
export function sessionFileFrom(
  events: readonly Event[],
  views: readonly LoadedView[] = [],
): AgentSession | MultiAgentSession {
  const scope = fileScope(events, views)
  const { model, sessions, own, ended_at } = scope
  const top = sessions.filter(({ caller }) => !caller)
  const main = own || top.length !== 1 ? undefined : top[0]
  const { calls, subs } = sessionTree(scope, main)
  const allCalls = [...calls, ...subs.flatMap(({ record }) => record.tool_calls)]
  const phases = phasesFrom(scope, allCalls)
  const prompt = userPrompt(model.start?.input, own)
  const request = events.find((event) => event.type === 'model:begin')
  const model_id = main?.sent_to ?? request?.data.model ?? model.start?.model ?? 'unknown'
  const session: AgentSession = {
    session_id: model.run.id,
    task_title: toTitle(prompt),
    user_prompt: prompt,
    created_at: toIso(model.run.started_at),
    ...(ended_at === undefined ? undefined : { completed_at: toIso(ended_at) }),
    status: toSessionStatus(model.run.status),
    agent: { model_id },
    tool_calls: calls,
    ...(phases.length > 0 ? { phase_annotations: phases } : undefined),
    summary: summarize(scope, allCalls),
    run: toSessionRun(scope),
  }
  if (!own && subs.length === 0) return session
  const { pattern, orchestrator } = own?.source.collaboration(own.state, model.start?.input) ?? DEFAULT_COLLABORATION
  const director = orchestrator ?? (main ? identifyAgent(main.data.agent) : toRunIdentifier(scope))
  return {
    ...session,
    collaboration: { mode: 'multi_agent', pattern, orchestrator: director, participants: participants(director, subs) },
    sub_sessions: subs.map(({ record }) => record),
    messages: messagesFrom(scope, { subs, orchestrator: director }),
  }
}

/** The first agent of a run delegates to others and gets their results. */
const DEFAULT_COLLABORATION: { pattern: CollaborationPattern; orchestrator?: AgentIdentifier } = {
  pattern: 'master_worker',
}

/** The code of the pattern itself, where no agent directs the others. */
function toRunIdentifier({ model: { start } }: FileScope): AgentIdentifier {
  return { agent_id: start?.pattern ?? 'run', agent_type: 'orchestrator' }
}

function participants(director: AgentIdentifier, subs: readonly SubSession[]): AgentIdentifier[] {
  const byId = new Map([[director.agent_id, director]])
  for (const { session, record } of subs) {
    const { instance_id, ...agent } = record.agent
    const isOwn = instance_id !== undefined && instance_id !== session.session_id
    if (!byId.has(agent.agent_id)) byId.set(agent.agent_id, isOwn ? record.agent : agent)
  }
  return [...byId.values()]
}

function summarize({ model, events, own }: FileScope, calls: readonly ToolCallRecord[]): SessionSummary {
  const changed = own?.source.changes?.(own.state) ?? changedFiles(events)
  const failed = calls.filter(({ output, made_by_pattern }) => output.status === 'failed' && !made_by_pattern)
  const requests = events.filter((event) => isEvent(event, 'model:error') && event.data.retry === undefined)
  return {
    total_duration_ms: model.clock.recorded - model.run.started_at,
    tool_calls_count: calls.length,
    files_created: [...changed.files_created],
    files_modified: [...changed.files_modified],
    files_deleted: [...changed.files_deleted],
    errors_encountered: failed.length + requests.length,
  }
}

function toSessionRun({ model: { run, start, end, open } }: FileScope): SessionRun {
  const error = end?.error?.message
  const questions = [...open.gates].map(({ question }) => question)
  return {
    run_id: run.id,
    pattern: start?.pattern ?? 'unknown',
    status: run.status,
    stop_reason: run.stop_reason,
    ...(error === undefined ? undefined : { error }),
    ...(questions.length > 0 ? { waiting_for: questions } : undefined),
  }
}

const PROMPT_FIELDS = ['instruction', 'request', 'question', 'message', 'prompt'] as const

function userPrompt(input: unknown, own: SessionFileContribution | undefined): string {
  const contributed = own?.source.prompt?.(input)
  if (contributed !== undefined) return contributed
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const text = PROMPT_FIELDS.map((field) => fields[field]).find((value) => typeof value === 'string')
  if (typeof text === 'string') return text
  return typeof input === 'string' ? input : (JSON.stringify(withoutFileData(input)) ?? '')
}

const TITLE_LENGTH = 80

function toTitle(prompt: string): string {
  const [line = ''] = prompt.trim().split('\n')
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1)}…` : line
}
