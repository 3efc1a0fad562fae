import type { ErrorRecord } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'
import type { Attachment } from '../../kernel/attachment.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import type { Answer, AnswerRequest } from '../../kernel/session-request.ts'
import { withChanges } from '../../kernel/session-result.ts'
import { totalTokens } from '../../kernel/spend.ts'
import { contentFrom, contentFromText } from './contribution-parser.ts'
import type { CollaborateContext } from './events.ts'
import type { Concern, Contribution } from './output.ts'
import type { ContributionAnswer, SpecialistPromptInput } from './prompts/specialist-prompt.ts'
import { contributionAnswer, specialistPrompt } from './prompts/specialist-prompt.ts'
import type { Specialist } from './specialists.ts'

/** Shared by all requests of one collaboration. */
export interface ContributionScope {
  context: CollaborateContext
  shared: string
  /** The shape of the answers; without it plain text. */
  answer: ContributionAnswer | undefined
  categories: readonly string[] | undefined
  cache: boolean
  /** `attachments` of the first request to each specialist. */
  files: { attachments?: Attachment[] }
  /** Contributions in the order of their end: what a cancelled collaboration keeps. */
  finished: Contribution[]
}

export interface SpecialistRequest extends Pick<AnswerRequest, 'keep'> {
  key: string
  previous?: SpecialistPromptInput['previous']
  subtask?: string
  model?: string
}

export function createContributionScope(
  context: CollaborateContext,
  shared: string,
  input: ContributionOptions,
): ContributionScope {
  const { categories, structured, cache, attachments } = input
  return {
    context,
    shared,
    answer: structured ? contributionAnswer(categories) : undefined,
    categories,
    cache,
    files: attachments ? { attachments } : {},
    finished: [],
  }
}

interface ContributionOptions {
  attachments?: Attachment[] | undefined
  categories?: string[] | undefined
  structured: boolean
  cache: boolean
}

/** Requests the answer of one specialist. A failure is returned as a contribution, so that the others are not affected. */
export async function requestContribution(
  scope: ContributionScope,
  specialist: Specialist,
  request: SpecialistRequest,
): Promise<Contribution> {
  const { context } = scope
  const { key, previous, subtask } = request
  const data = { agent: specialist.name, role: specialist.role, ...(subtask === undefined ? undefined : { subtask }) }
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', data)
  const instruction = specialistPrompt({
    shared: scope.shared,
    specialist,
    answer: scope.answer,
    ...(previous ? { previous } : undefined),
    ...(subtask === undefined ? undefined : { subtask }),
  })
  const answer = await performWithCache(scope, specialist, { ...request, instruction })
  const contribution = { ...answer, ...(subtask === undefined ? undefined : { subtask }) }
  emitContribution(context, key, contribution)
  scope.finished.push(contribution)
  return contribution
}

export interface FollowUp {
  /** The revised contribution, or the earlier one. */
  contribution: Contribution
  error?: ErrorRecord
}

interface FollowUpRequest {
  specialist: Specialist
  earlier: Contribution
  key: string
  instruction: string
}

/**
 * Asks a specialist again in its session. Without a new recommendation the earlier contribution is kept, with the concerns of
 * both: a veto raised in mediation must block the vote.
 */
export async function requestFollowUp(
  scope: ContributionScope,
  { specialist, earlier, key, instruction }: FollowUpRequest,
): Promise<FollowUp> {
  const { context } = scope
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', { agent: specialist.name, role: specialist.role })
  const resume = earlier.session_id ?? ''
  const form = scope.answer ? { answer: scope.answer, allowText: true as const } : undefined
  const answer = await context.request({ key, agent: undefined, prompt: instruction, resume, ...form })
  const revised = toContribution(scope, specialist, answer)
  // The usage of a resumed session includes its earlier turns, even those of another run.
  const tokens_used = Math.max(earlier.tokens_used, revised.tokens_used - (earlier.saved_tokens ?? 0))
  emitContribution(context, key, { ...revised, tokens_used: tokens_used - earlier.tokens_used })
  const { recommendation, confidence, subtask } = earlier
  const current =
    revised.recommendation === null
      ? withAddition(earlier, revised)
      : { ...revised, before: { recommendation, confidence } }
  const contribution = { ...current, ...(subtask === undefined ? undefined : { subtask }), tokens_used }
  return { contribution, ...(revised.error ? { error: revised.error } : undefined) }
}

function withAddition(earlier: Contribution, { error, response, concerns, questions }: Contribution): Contribution {
  const addition = error || response.trim() === '' ? '' : `\n\nAfter mediation: ${response}`
  const isNew = ({ concern, severity }: Concern) =>
    !earlier.concerns.some((known) => known.concern === concern && known.severity === severity)
  return {
    ...earlier,
    response: earlier.response + addition,
    concerns: [...earlier.concerns, ...concerns.filter(isNew)],
    questions: [...new Set([...earlier.questions, ...questions])],
  }
}

/** Asks for an answer, which may be that of an earlier run if the specialist only reads. */
async function performWithCache(
  scope: ContributionScope,
  specialist: Specialist,
  { key, instruction, keep, model = specialist.agent.model }: SpecialistRequest & { instruction: string },
): Promise<Contribution> {
  const { context, answer: shape, cache, files, categories } = scope
  const { agent } = specialist
  const readOnly = specialist.readOnly ? { readOnly: specialist.readOnly } : undefined
  const format = { structured: shape !== undefined, categories: categories ?? null }
  const cacheFacts = { agent, instruction, model: model ?? null, ...format, ...files }
  const isCacheable = cache && context.isReadOnly(agent, readOnly)
  const answer = await context.request({
    key,
    agent,
    prompt: instruction,
    ...files,
    ...(keep ? { keep } : undefined),
    ...(model === undefined ? undefined : { model }),
    ...(shape ? { answer: shape, allowText: true } : undefined),
    ...readOnly,
    ...(isCacheable ? { cache_key: sha256(canonicalJson(cacheFacts)), cachedAs: `${key}/cached` } : undefined),
    keys: { text: `text/${key}` },
  })
  const contribution = toContribution(scope, specialist, answer)
  if (!answer.cached) return contribution
  return { ...contribution, cached: true, saved_tokens: totalTokens(answer.usage) }
}

function emitContribution(context: CollaborateContext, key: string, contribution: Contribution): void {
  const { agent, role, tokens_used: tokens, recommendation, confidence, error } = contribution
  if (error) {
    context.emit(`${key}/answered`, 'tool:collaborative:agent:error', { agent, role, tokens, error })
    return
  }
  context.emit(`${key}/answered`, 'tool:collaborative:agent:complete', {
    agent,
    role,
    tokens,
    ...(recommendation === null ? undefined : { recommendation }),
    ...(confidence === null ? undefined : { confidence }),
  })
}

export function emptyContribution({ name, role }: Pick<Specialist, 'name' | 'role'>): Omit<Contribution, 'status'> {
  return {
    agent: name,
    role,
    response: '',
    recommendation: null,
    confidence: null,
    concerns: [],
    questions: [],
    tokens_used: 0,
  }
}

/** Text that does not match the shape still counts as a contribution. */
function toContribution(
  { answer: shape, categories }: ContributionScope,
  specialist: Specialist,
  answer: Answer<ContributionAnswer>,
): Contribution {
  const { session_id, tokens: tokens_used, text, error, stop_reason } = answer
  const base = { ...emptyContribution(specialist), ...(session_id === '' ? undefined : { session_id }), tokens_used }
  if (answer.status !== 'completed') {
    const status = stop_reason === 'timeout' ? ('timeout' as const) : ('failed' as const)
    const message = `the session of ${specialist.name} ended with stop_reason ${stop_reason}`
    const fallback = () => new TroupeError('model_failed', message, { hint: 'resume the run to repeat it' }).toJSON()
    return { ...base, response: text, status, error: error ?? fallback() }
  }
  const status = stop_reason === 'completed' ? ('completed' as const) : ('partial' as const)
  const content = shape ? contentFrom(answer, categories) : contentFromText(text, categories)
  return { ...base, ...content, response: withChanges(content.response, answer), status }
}
