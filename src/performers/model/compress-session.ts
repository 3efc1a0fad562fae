import { TroupeError } from '../../errors.ts'
import { isEvent } from '../../kernel/event.ts'
import { shortHash } from '../../kernel/hash.ts'
import type { Execution } from '../../kernel/journal/execution.ts'
import { settleOnce } from '../../kernel/journal/step.ts'
import type { Message, Model } from '../../kernel/model.ts'
import { textFrom, userMessage } from '../../kernel/model.ts'
import type { SessionState } from '../../kernel/session/session-state.ts'
import { applyEvent, OMITTED_PREFIX } from '../../kernel/session/session-state.ts'
import { requestModel } from './model-request.ts'
import type { ModelRequestPlan, ModelRequestScope } from './model-request-plan.ts'
import type { SessionPolicy } from './session-policy.ts'

/*
 * Context compaction: keeps a conversation within its model's context window. The oldest tool results are truncated first;
 * if that is not enough, old messages are replaced by a summary. Recent and pinned messages stay whole. The journal keeps
 * the originals; `session:compress` records what was dropped, so that a replay drops the same.
 */

/** Compacts the conversation if it is too long together with `extraBytes` of tools; true if it did. */
export async function compressIfNeeded(
  scope: ModelRequestScope,
  turnKey: string,
  options: { extraBytes: number; force?: boolean },
): Promise<boolean> {
  const { execution, session, signal } = scope
  const key = `${turnKey}/compress${options.force ? '/forced' : ''}`
  const recorded = execution.journalIndex.outcome(key)
  const plan = isEvent(recorded, 'session:compress')
    ? { ...recorded.data, summarize: recorded.data.summary !== null }
    : planCompaction(scope, options)
  if (!plan) return false
  const { truncated_messages, from, to } = plan
  const summary = plan.summarize ? await summarize(scope, key, { from, to }) : null
  const event = settleOnce({ execution, key, signal }, () =>
    execution.journal.append(
      'session:compress',
      { key, truncated_messages, from, to, summary, bytes_before: session.bytes },
      session.id,
    ),
  )
  applyEvent(session, event)
  return true
}

interface CompactionPlan {
  truncated_messages: number[]
  from: number
  to: number
  summarize: boolean
}

function planCompaction(
  { execution, session, model }: ModelRequestScope,
  { extraBytes, force }: { extraBytes: number; force?: boolean },
): CompactionPlan | undefined {
  const { threshold, target, keepRecent } = sessionPolicyOf(execution).compaction
  const tokens = estimateTokens(session, extraBytes)
  const window = model.limits?.context ?? (force ? tokens : Number.POSITIVE_INFINITY)
  if (!force && tokens < window * threshold) return undefined
  const excess = tokens - Math.min(window, tokens) * target
  const truncated_messages = resultsToTruncate(session, excess, keepRecent)
  const range = summaryRange(session, keepRecent)
  const summarize = tokensSaved(session, truncated_messages) < excess && range.to - range.from >= 2
  if (!summarize && truncated_messages.length === 0) return undefined
  return { truncated_messages, ...range, summarize }
}

/** Without a tokenizer: as the provider counted, and a third of the bytes of what it has not counted yet. */
function estimateTokens(session: SessionState, extraBytes: number): number {
  const { tokens, bytes } = session.tokenCount
  return tokens + (session.bytes - bytes + (tokens > 0 ? 0 : extraBytes)) / 3
}

/** Indexes of messages whose tool results are truncated: the oldest first, until `excess` tokens are saved. */
function resultsToTruncate(session: SessionState, excess: number, keepRecent: number): number[] {
  const cut: number[] = []
  for (let index = 0; index < session.messages.length - keepRecent; index++) {
    if (tokensSaved(session, cut) >= excess) break
    const message = session.messages[index]
    if (message?.role === 'tool' && !message.content.every((part) => part.text.startsWith(OMITTED_PREFIX)))
      cut.push(index)
  }
  return cut
}

function tokensSaved(session: SessionState, cut: readonly number[]): number {
  return cut.reduce((sum, index) => sum + JSON.stringify(session.messages[index]).length / 3, 0)
}

/** The messages between the pinned beginning and the recent end; no tool call is separated from its result. */
function summaryRange(session: SessionState, keepRecent: number): { from: number; to: number } {
  const { messages } = session
  const pinned = messages.findIndex((message) => message.role !== 'user' || !message.pinned)
  let to = Math.max(messages.length - keepRecent, 0)
  while (to > 0 && messages[to]?.role === 'tool') to -= 1
  return { from: Math.max(pinned, 0), to: Math.max(to, Math.max(pinned, 0)) }
}

async function summarize(
  scope: ModelRequestScope,
  key: string,
  { from, to }: { from: number; to: number },
): Promise<string> {
  const { execution, session } = scope
  const text = session.messages.slice(from, to).map(quoteMessage).join('\n')
  const model = await chooseSummaryModel(scope, text)
  const messages = [userMessage(sessionPolicyOf(execution).compaction.summaryPrompt(text))]
  const requestKey = `${key}/model`
  const plan: ModelRequestPlan = {
    key: requestKey,
    maxInputTokens: Buffer.byteLength(text) + 1024,
    inputHash: (name) => shortHash(text + name),
    buildRequest: (name, reservation) => ({
      key: requestKey,
      model: name,
      system: '',
      messages,
      tools: [],
      settings: { max_output: reservation.output, temperature: 0 },
      session: {
        run_id: execution.run.id,
        session_id: session.id,
        agent: 'summary',
        turn: session.turns + 1,
        marks: session.marks,
      },
    }),
    phase: 'summary',
  }
  const summaryScope = { ...scope, model, modelName: model.name, models: [model.name, ...scope.models] }
  const event = await requestModel(summaryScope, plan)
  if (isEvent(event, 'model:end')) return textFrom(event.data.message)
  throw new TroupeError('context_too_long', 'the conversation exceeds the context window, and summarising it failed', {
    hint: 'try again with `troupe resume RUN`, or delegate the rest to a new session',
    step: requestKey,
  })
}

/** The summary model, unless the text does not fit into its context window. */
async function chooseSummaryModel({ execution, model }: ModelRequestScope, text: string): Promise<Model> {
  const { models, summaryModel } = execution.ports
  if (summaryModel === undefined) return model
  const preferred = await models.resolve(summaryModel)
  const window = preferred.limits?.context ?? Number.POSITIVE_INFINITY
  return Buffer.byteLength(text) / 3 < window * sessionPolicyOf(execution).compaction.threshold ? preferred : model
}

function quoteMessage(message: Message): string {
  return message.content
    .map((part) => {
      if (part.type === 'tool-call') return `[${message.role} calls ${part.name}] ${JSON.stringify(part.input)}`
      if (part.type === 'tool-result') return `[result of ${part.name}] ${part.text}`
      return 'text' in part ? `[${message.role}] ${part.text}` : `[${message.role}: an image]`
    })
    .join('\n')
}

export function sessionPolicyOf({ ports }: Execution): SessionPolicy {
  return ports.sessionPolicy as SessionPolicy
}
