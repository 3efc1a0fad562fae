import type { ErrorRecord } from '../../errors.ts'
import { TroupeError, toTroupeError } from '../../errors.ts'
import type { Attachment } from '../../kernel/attachment.ts'
import type { PerformRequest } from '../../kernel/context.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import { withChanges } from '../../kernel/session-result.ts'
import type * as z from '../../schema/zod.ts'
import { contentFrom, contentFromText } from './contribution-parser.ts'
import type { CollaborateContext } from './events.ts'
import type { Concern, Contribution, ContributionContent } from './output.ts'
import type { SpecialistPromptInput } from './prompts/specialist-prompt.ts'
import { contributionSchema, specialistPrompt } from './prompts/specialist-prompt.ts'
import type { Specialist } from './specialists.ts'

/** Shared by all requests of one collaboration. */
export interface ContributionScope {
  context: CollaborateContext
  shared: string
  /** The requested output; without it plain text. */
  schema: z.ZodType | undefined
  categories: readonly string[] | undefined
  cache: boolean
  /** `attachments` of the first request to each specialist. */
  files: { attachments?: Attachment[] }
  /** Contributions in the order of their end: what a cancelled collaboration keeps. */
  finished: Contribution[]
}

export interface SpecialistRequest {
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
    schema: structured ? contributionSchema(categories) : undefined,
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
    form: scope.schema ? { categories: scope.categories } : 'text',
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
  const { context, schema } = scope
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', { agent: specialist.name, role: specialist.role })
  const resume = earlier.session_id ?? ''
  const request = { instruction, resume, ...(schema ? { output: schema, allowText: true as const } : undefined) }
  const revised = await performSpecialist(scope, specialist, { key, request })
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

async function performWithCache(
  scope: ContributionScope,
  specialist: Specialist,
  { key, instruction, model = specialist.agent.model }: SpecialistRequest & { instruction: string },
) {
  const { context, schema, cache, files } = scope
  const request: PerformRequest = {
    instruction,
    ...files,
    ...(model === undefined ? undefined : { model }),
    ...(schema ? { output: schema, allowText: true as const } : undefined),
    ...(specialist.readOnly ? { readOnly: specialist.readOnly } : undefined),
  }
  if (!cache || !context.isReadOnly(specialist.agent, request))
    return performWithTextFallback(scope, specialist, { key, request })
  const format = { structured: schema !== undefined, categories: scope.categories ?? null }
  const cache_key = sha256(
    canonicalJson({ agent: specialist.agent, instruction, model: model ?? null, ...format, ...files }),
  )
  const cachedSession = await context.cachedResult(`${key}/cached`, cache_key, model)
  if (cachedSession) {
    const contribution = toContribution(scope, specialist, cachedSession)
    return { ...contribution, tokens_used: 0, cached: true as const, saved_tokens: contribution.tokens_used }
  }
  return performWithTextFallback(scope, specialist, { key, request: { ...request, cache_key } })
}

/** Falls back to plain text if the provider does not support structured output. */
async function performWithTextFallback(
  scope: ContributionScope,
  specialist: Specialist,
  { key, request }: { key: string; request: PerformRequest },
) {
  const structured = await performSpecialist(scope, specialist, { key, request })
  if (structured.error?.code !== 'model_unsupported' || !scope.schema) return structured
  const { output: _output, cache_key: _cache, ...textRequest } = request
  const textScope = { ...scope, schema: undefined }
  const text = await performSpecialist(textScope, specialist, { key: `text/${key}`, request: textRequest })
  return { ...text, tokens_used: text.tokens_used + structured.tokens_used }
}

async function performSpecialist(
  scope: ContributionScope,
  specialist: Specialist,
  { key, request }: { key: string; request: PerformRequest },
): Promise<Contribution> {
  try {
    const agent = request.resume === undefined ? specialist.agent : undefined
    return toContribution(scope, specialist, await scope.context.perform(agent, request, { key }))
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    return { ...emptyContribution(specialist), status: 'failed', error: error.toJSON() }
  }
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

/** Text that does not match the schema still counts as a contribution. */
function toContribution(scope: ContributionScope, specialist: Specialist, session: SessionResult): Contribution {
  const { session_id, usage, text, error, stop_reason } = session
  const base = { ...emptyContribution(specialist), session_id, tokens_used: usage.input + usage.output }
  if (session.status !== 'completed') {
    const status = stop_reason === 'timeout' ? ('timeout' as const) : ('failed' as const)
    const message = `the session of ${specialist.name} ended with stop_reason ${stop_reason}`
    const fallback = () => new TroupeError('model_failed', message, { hint: 'resume the run to repeat it' }).toJSON()
    return { ...base, response: text, status, error: error ?? fallback() }
  }
  const status = stop_reason === 'completed' ? ('completed' as const) : ('partial' as const)
  const content = toContent(scope, session)
  return { ...base, ...content, response: withChanges(content.response, session), status }
}

function toContent({ schema, categories }: ContributionScope, { text }: SessionResult): ContributionContent {
  return schema ? contentFrom(text, categories) : contentFromText(text, categories)
}
