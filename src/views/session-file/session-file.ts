import type { Event } from '../../kernel/event.ts'
import { withoutFileData } from '../attachment-list.ts'
import type { LoadedView } from '../run-view.ts'
import type { AgentSession, MultiAgentSession, SessionRun, SessionSummary, ToolCallRecord } from './agent-session.ts'
import type { SessionFileContribution } from './pattern-contributions.ts'
import { contributionsFrom } from './pattern-contributions.ts'
import type { AgentIdentifier, CollaborationPattern } from './pattern-session-file.ts'
import { messagesFrom } from './session-messages.ts'
import { phasesFrom } from './session-phases.ts'
import type { RunFacts } from './session-records.ts'
import { runFactsFrom } from './session-records.ts'
import { runStatus, toIso, toSessionStatus } from './session-status.ts'
import type { SubSession } from './sub-sessions.ts'
import { identifyAgent, sessionTree } from './sub-sessions.ts'

/*
 * A run as a session file. The file is about the first agent of a run whose pattern opens one session; otherwise it is about the
 * run, and each session that the pattern opened is a sub-session. `session_id` is the id of the run.
 */

/** The session file of a journal. `views` are those of `loadPatternViews(await troupe.patterns())`; `troupe.exportSession` loads them. */
export function sessionFileFrom(
  events: readonly Event[],
  views: readonly LoadedView[] = [],
): AgentSession | MultiAgentSession {
  const facts = runFactsFrom(events)
  const contributions = contributionsFrom(events, views)
  const own = contributions.find(({ name }) => name === facts.start?.pattern)
  const top = [...facts.segments.values()].filter(({ opener }) => !opener)
  const main = own || top.length !== 1 ? undefined : top[0]
  const { calls, subs } = sessionTree({ facts, main, contributions })
  const allCalls = [...calls, ...subs.flatMap(({ record }) => record.tool_calls)]
  const ended_at = facts.end ? facts.last_at : undefined
  const phases = phasesFrom(events, own, { calls: allCalls, ended_at })
  const prompt = userPrompt(facts.start?.input, own)
  const session: AgentSession = {
    session_id: facts.run_id,
    task_title: toTitle(prompt),
    user_prompt: prompt,
    created_at: toIso(facts.started_at),
    ...(ended_at === undefined ? undefined : { completed_at: toIso(ended_at) }),
    status: toSessionStatus(runStatus(facts)),
    agent: { model_id: main?.model ?? facts.model ?? facts.start?.model ?? 'unknown' },
    tool_calls: calls,
    ...(phases.length > 0 ? { phase_annotations: phases } : undefined),
    summary: summarize(facts, allCalls, own),
    run: toSessionRun(facts),
  }
  if (!own && subs.length === 0) return session
  const { pattern, orchestrator } = own?.source.collaboration(own.state, facts.start?.input) ?? DEFAULT_COLLABORATION
  const director = orchestrator ?? (main ? identifyAgent(main.agent) : toRunIdentifier(facts))
  return {
    ...session,
    collaboration: { mode: 'multi_agent', pattern, orchestrator: director, participants: participants(director, subs) },
    sub_sessions: subs.map(({ record }) => record),
    messages: messagesFrom(events, { subs, contributions, own, orchestrator: director }),
  }
}

/** The first agent of a run delegates to others and gets their results. */
const DEFAULT_COLLABORATION: { pattern: CollaborationPattern; orchestrator?: AgentIdentifier } = {
  pattern: 'master_worker',
}

/** The code of the pattern itself, where no agent directs the others. */
function toRunIdentifier({ start }: RunFacts): AgentIdentifier {
  return { agent_id: start?.pattern ?? 'run', agent_type: 'orchestrator' }
}

function participants(director: AgentIdentifier, subs: readonly SubSession[]): AgentIdentifier[] {
  const byId = new Map([[director.agent_id, director]])
  for (const { facts, record } of subs) {
    const { instance_id, ...agent } = record.agent
    const isOwn = instance_id !== undefined && instance_id !== facts.session_id
    if (!byId.has(agent.agent_id)) byId.set(agent.agent_id, isOwn ? record.agent : agent)
  }
  return [...byId.values()]
}

function summarize(
  facts: RunFacts,
  calls: readonly ToolCallRecord[],
  own: SessionFileContribution | undefined,
): SessionSummary {
  const { files_created, files_modified, files_deleted } = own?.source.changes?.(own.state) ?? facts.files.files
  const failed = calls.filter(({ output, made_by_pattern }) => output.status === 'failed' && !made_by_pattern)
  return {
    total_duration_ms: facts.last_at - facts.started_at,
    tool_calls_count: calls.length,
    files_created: [...files_created],
    files_modified: [...files_modified],
    files_deleted: [...files_deleted],
    errors_encountered: failed.length + facts.failed_requests,
  }
}

function toSessionRun(facts: RunFacts): SessionRun {
  const { run_id, start, end, questions } = facts
  const error = end?.error?.message
  return {
    run_id,
    pattern: start?.pattern ?? 'unknown',
    status: runStatus(facts),
    stop_reason: end?.stop_reason ?? null,
    ...(error === undefined ? undefined : { error }),
    ...(!end && questions.size > 0 ? { waiting_for: [...questions.values()] } : undefined),
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
