import { TEAM, USER } from '../../judgement/team/team-schema.ts'
import type { Agent } from '../../kernel/agent.ts'
import { findRequestMessage } from './sub-team-context.ts'
import { SUMMARY_PROMPT } from './summary-prompt.ts'
import type { TeamMessage } from './team-message.ts'
import { formatTeamMessage, toUserMessage } from './team-message.ts'
import type { TeamPlan } from './team-plan.ts'
import type { TeamRecord, TeamState } from './team-state.ts'
import { contextLimitBytes } from './team-state.ts'

/** The number of newest messages that are never summarized. */
const KEEP_RECENT = 4
/** The share of the conversation that a summary must replace to be worth a model request. */
const MIN_SAVING = 0.2
/** The share of the context limit reserved for user messages. */
const USER_SHARE = 0.5

/**
 * Replaces older messages with a summary when the conversation exceeds `limits.context_tokens`. User messages, handoffs with
 * their reasons and artifact names are kept verbatim. The history of the run stays complete.
 */
export async function compressConversation(state: TeamState): Promise<void> {
  const { context, conversation, round } = state
  const { thread, messages } = conversation
  if (thread.bytes <= conversation.compressAtBytes) return
  const replaced = replaceableMessages(state)
  if (replaced.length < 2 || totalBytes(replaced) < thread.bytes * MIN_SAVING) return
  const key = `round/${round}/compress`
  const before = thread.bytes
  const result = await context.request({
    key: `${key}/summary`,
    agent: summarizerAgent(state.plan.preamble),
    prompt: SUMMARY_PROMPT,
    preferredModel: 'fast',
    internal: true,
    thread,
  })
  state.record.totals.tokens += result.tokens
  // Recorded: a summary that fails now and succeeds on resume must not change what later turns have read.
  const hasSummary = await context.step(
    `${key}/summed`,
    () => result.status === 'completed' && result.text.trim() !== '',
  )
  if (!hasSummary) {
    // Exponential backoff: a summary that fails in every turn would cost more than it saves.
    conversation.compressAtBytes = before * 2
    const error = result.error?.message ?? 'the summary was empty'
    context.emit(key, 'team:compress', { round, before, after: before, messages: 0, error })
    return
  }
  const summary = summaryMessage(state.record, result.text)
  const replaces = messages.flatMap((message, place) => (replaced.includes(message) ? place : []))
  if (conversation.isEmitted) context.emit(`${key}-message`, 'team:message', { round, ...summary, replaces })
  const shortened = withSummary(messages, summary, new Set(replaces))
  messages.splice(0, messages.length, ...shortened)
  thread.replace(shortened.map(toUserMessage))
  conversation.compressAtBytes = Math.max(conversation.compressAtBytes, thread.bytes * 2)
  context.emit(key, 'team:compress', { round, before, after: thread.bytes, messages: replaced.length })
}

/** The conversation after a summary, which stands before the newest messages. */
export function withSummary(
  messages: readonly TeamMessage[],
  summary: TeamMessage,
  replaces: ReadonlySet<number>,
): TeamMessage[] {
  const kept = messages.slice(0, -KEEP_RECENT).filter((_, place) => !replaces.has(place))
  return [...kept, summary, ...messages.slice(-KEEP_RECENT)]
}

/** The older messages, without those that a summary keeps. */
function replaceableMessages(state: TeamState) {
  const older = state.conversation.messages.slice(0, -KEEP_RECENT)
  const kept = userMessagesToKeep(older, { request: findRequestMessage(state), plan: state.plan })
  return older.filter((message) => !kept.includes(message))
}

function summaryMessage({ handoffs, artifacts }: TeamRecord, summary: string) {
  const decisions = handoffs.map(
    ({ round, from, to, handoff_reason }) => `${round}: ${from} → ${to ?? 'nobody'}: ${handoff_reason}`,
  )
  return { from: TEAM, summary, decisions, artifacts: [...new Set(artifacts)] }
}

/** The request and the newest user messages up to `USER_SHARE`. A summary would keep the first request and lose later ones. */
function userMessagesToKeep(
  older: readonly TeamMessage[],
  { request, plan }: { request: TeamMessage | undefined; plan: Pick<TeamPlan, 'team'> },
): TeamMessage[] {
  const kept = new Set<TeamMessage>()
  let remainingBytes = contextLimitBytes(plan) * USER_SHARE
  for (const message of older.filter(({ from }) => from === USER).reverse()) {
    remainingBytes -= totalBytes([message])
    if (remainingBytes > 0 || kept.size === 0 || message === request) kept.add(message)
  }
  return older.filter((message) => kept.has(message))
}

function totalBytes(messages: readonly TeamMessage[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(formatTeamMessage(message)), 0)
}

function summarizerAgent(preamble: string): Agent {
  const description = 'Summarizes a team conversation that exceeds its context limit'
  return { name: 'summarizer', description, instructions: preamble, temperature: 0, tools: [] }
}
