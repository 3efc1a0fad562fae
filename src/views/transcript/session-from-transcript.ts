import { TroupeError } from '../../errors.ts'
import { redact } from '../../judgement/redaction/redaction.ts'
import { redactJson } from '../../kernel/redactor.ts'
import type { ToolCategory } from '../../kernel/tool.ts'
import type {
  AgentMessage,
  AgentSession,
  MultiAgentSession,
  SessionStatus,
  SubAgentSession,
  ToolCallRecord,
} from '../session-file/agent-session.ts'
import type { AgentIdentifier } from '../session-file/pattern-session-file.ts'
import type { TranscriptCall, TranscriptConversation } from './conversations.ts'
import { readConversations } from './conversations.ts'

/** A tool call that starts a sub-agent. */
const DELEGATION = /^(?:Task|Agent|task)$/
const MAIN: AgentIdentifier = { agent_id: 'main', agent_type: 'default' }

interface SubAgent {
  conversation: TranscriptConversation
  agent: AgentIdentifier
  call: TranscriptCall
  /** The conversation that the call is in; `undefined` if the transcript does not have the call. */
  parent: TranscriptConversation | undefined
}

/**
 * The session file of a transcript of a coding agent, in its records: those of the main file, then those of files of sub-agents. A sub-agent is
 * joined to the call that started it by its id, or else by its prompt; one that nobody started in this transcript has a call made up for it.
 * Secrets are redacted.
 */
export function sessionFromTranscript(records: readonly unknown[]): AgentSession | MultiAgentSession {
  const redactor = { redact: (text: string) => redact(text) }
  return redactJson(redactor, toSession(records)) as AgentSession | MultiAgentSession
}

function toSession(records: readonly unknown[]): AgentSession | MultiAgentSession {
  const found = readConversations(records)
  if (!found) {
    throw new TroupeError('invalid_input', 'the transcript has no messages: no record has `type` user or assistant', {
      hint: 'give the .jsonl file of one session of a coding agent',
    })
  }
  const { main, others, session_id = 'transcript' } = found
  const subAgents = joinSubAgents(main, others)
  const all = [main, ...others]
  const ended =
    all
      .map(({ ended_at }) => ended_at)
      .sort()
      .at(-1) ?? main.ended_at
  const status = statusOf(main)
  const base: AgentSession = {
    session_id,
    task_title: titleOf(main.prompt),
    user_prompt: main.prompt,
    created_at: main.started_at,
    ...(status === 'in_progress' ? undefined : { completed_at: ended }),
    status,
    agent: { model_id: main.model_id ?? 'unknown' },
    tool_calls: callRecords(main, undefined, subAgents),
    summary: {
      total_duration_ms: Date.parse(ended) - Date.parse(main.started_at),
      tool_calls_count: all.reduce((sum, { calls }) => sum + calls.length, 0),
      ...changedFiles(all),
      errors_encountered: all.flatMap(({ calls }) => calls).filter(({ result }) => result?.is_error).length,
    },
  }
  if (subAgents.length === 0) return base
  return {
    ...base,
    collaboration: {
      mode: 'multi_agent',
      pattern: 'master_worker',
      orchestrator: MAIN,
      participants: [MAIN, ...subAgents.map(({ agent }) => agent)],
    },
    sub_sessions: subAgents.map((one) => toSubSession(one, session_id, subAgents)),
    messages: subAgents.flatMap((one) => messagesOf(one, subAgents)),
  }
}

function joinSubAgents(main: TranscriptConversation, others: readonly TranscriptConversation[]): SubAgent[] {
  const delegations = [main, ...others].flatMap((parent) =>
    parent.calls.filter(({ tool_name }) => DELEGATION.test(tool_name)).map((call) => ({ parent, call })),
  )
  const taken = new Set<TranscriptCall>()
  const join = (conversation: TranscriptConversation, isMatch: (call: TranscriptCall) => boolean) => {
    const match = delegations.find(({ call, parent }) => parent !== conversation && !taken.has(call) && isMatch(call))
    if (match) taken.add(match.call)
    return match
  }
  const byId = others.map((other) => join(other, ({ result }) => result?.details.agentId === other.id))
  return others.map((conversation, index) => {
    const found = byId[index] ?? join(conversation, ({ params }) => isSamePrompt(params.prompt, conversation.prompt))
    const call = found?.call ?? madeUpCall(conversation)
    const agent_type = typeof call.params.subagent_type === 'string' ? call.params.subagent_type : 'default'
    const agent = { agent_id: `${agent_type}-${index + 1}`, agent_type, instance_id: conversation.id }
    return { conversation, agent, call, parent: found?.parent }
  })
}

function isSamePrompt(prompt: unknown, begun: string): boolean {
  return typeof prompt === 'string' && prompt.trim() !== '' && prompt.trim() === begun
}

function madeUpCall({ id, prompt, started_at, ended_at, answer, is_answered }: TranscriptConversation): TranscriptCall {
  const result = { at: ended_at, text: answer, is_error: false, details: {} }
  return {
    ...{ call_id: `started:${id}`, tool_name: 'unknown', params: { prompt }, started_at },
    ...(is_answered ? { result } : undefined),
  }
}

function callRecords(
  conversation: TranscriptConversation,
  own: SubAgent | undefined,
  subAgents: readonly SubAgent[],
): ToolCallRecord[] {
  const madeUp = own ? [] : subAgents.filter(({ parent }) => parent === undefined)
  return [
    ...conversation.calls.map((call) =>
      toRecord(
        call,
        subAgents.find((sub) => sub.call === call),
      ),
    ),
    ...madeUp.map((sub) => ({ ...toRecord(sub.call, sub), made_by_pattern: true as const })),
  ]
}

function toRecord(call: TranscriptCall, started: SubAgent | undefined): ToolCallRecord {
  const { call_id, tool_name, params, started_at, result } = call
  const ended_at = result && [started_at, result.at].sort()[1]
  const status: SessionStatus = !result ? 'in_progress' : result.is_error ? 'failed' : 'success'
  return {
    call_id,
    tool_name,
    tool_category: categoryOf(tool_name),
    started_at,
    ...(ended_at === undefined ? undefined : { ended_at, duration_ms: Date.parse(ended_at) - Date.parse(started_at) }),
    input: { params },
    output: { status, ...(result && (result.is_error ? { error: result.text } : { result: result.text })) },
    ...(started && {
      subagent_info: {
        subagent_type: started.agent.agent_type,
        sub_session_id: started.conversation.id,
        tool_uses: started.conversation.calls.length,
        tokens_used: started.conversation.tokens,
      },
    }),
  }
}

function toSubSession(one: SubAgent, session_id: string, subAgents: readonly SubAgent[]): SubAgentSession {
  const { conversation, agent, call, parent } = one
  const status = statusOf(conversation)
  const parentAgent = subAgents.find((sub) => sub.conversation === parent)
  return {
    sub_session_id: conversation.id,
    parent_session_id: parentAgent?.conversation.id ?? session_id,
    agent,
    task: { task_id: call.call_id, description: titleOf(conversation.prompt), priority: 'medium' },
    started_at: conversation.started_at,
    ...(status === 'in_progress' ? undefined : { completed_at: conversation.ended_at }),
    status,
    tool_calls: callRecords(conversation, one, subAgents),
    ...(status === 'in_progress'
      ? undefined
      : {
          output: {
            task_id: call.call_id,
            status: status === 'failed' ? ('failed' as const) : ('completed' as const),
            summary: conversation.answer,
          },
        }),
    triggered_by_call_id: call.call_id,
    ...(conversation.model_id === undefined ? undefined : { model_id: conversation.model_id }),
  }
}

function messagesOf({ conversation, agent, call, parent }: SubAgent, subAgents: readonly SubAgent[]): AgentMessage[] {
  const caller = subAgents.find((sub) => sub.conversation === parent)?.agent ?? MAIN
  const facts = { correlation_id: conversation.id, related_task_id: call.call_id }
  const assignment: AgentMessage = {
    ...{ message_id: `${call.call_id}/assignment`, timestamp: call.started_at, from_agent: caller, to_agent: agent },
    ...{ message_type: 'task_assignment', content: call.params, sequence_number: 1, ...facts },
  }
  if (statusOf(conversation) === 'in_progress') return [assignment]
  return [
    assignment,
    {
      ...{ message_id: `${call.call_id}/completion`, timestamp: conversation.ended_at, from_agent: agent },
      ...{ to_agent: caller, message_type: 'task_completion', content: conversation.answer, sequence_number: 2 },
      ...{ reply_to: assignment.message_id, ...facts },
    },
  ]
}

function statusOf({ is_answered, is_failed, calls }: TranscriptConversation): SessionStatus {
  if (is_failed) return 'failed'
  return is_answered && calls.every(({ result }) => result !== undefined) ? 'success' : 'in_progress'
}

const CATEGORIES: Readonly<Record<Exclude<ToolCategory, 'action'>, RegExp>> = {
  perception: /^(?:Read|Glob|Grep|LS|LSP|NotebookRead|WebFetch|WebSearch|BashOutput|TaskOutput|ToolSearch)$/,
  interaction: /^(?:AskUserQuestion|ask_user)$/,
  planning: /^(?:EnterPlanMode|ExitPlanMode|exit_plan_mode)$/,
  task_management: /^(?:Task|Agent|task|TodoRead|TodoWrite|Task(?:Create|Update|List|Get|Stop))$/,
}

/** A tool that nobody knows may have changed something. */
function categoryOf(tool: string): ToolCategory {
  const known = Object.entries(CATEGORIES).find(([, names]) => names.test(tool))
  return known ? (known[0] as ToolCategory) : 'action'
}

/** The files that calls have written, by whether they were there before. */
function changedFiles(conversations: readonly TranscriptConversation[]): {
  files_created: string[]
  files_modified: string[]
} {
  const created = new Set<string>()
  const modified = new Set<string>()
  for (const { tool_name, params, result } of conversations.flatMap(({ calls }) => calls)) {
    const path = params.file_path ?? params.notebook_path
    const isWrite = /^(?:Write|Edit|MultiEdit|NotebookEdit)$/.test(tool_name)
    if (!isWrite || typeof path !== 'string' || !result || result.is_error) continue
    if (tool_name === 'Write' && result.details.type === 'create') created.add(path)
    else if (!created.has(path)) modified.add(path)
  }
  return { files_created: [...created], files_modified: [...modified] }
}

const MAX_TITLE_CHARS = 80

function titleOf(prompt: string): string {
  const [line = ''] = prompt.split('\n').filter((one) => one.trim() !== '')
  const title = line.trim() === '' ? 'untitled' : line.trim()
  return title.length > MAX_TITLE_CHARS ? `${title.slice(0, MAX_TITLE_CHARS - 1).toWellFormed()}…` : title
}
