import type { z } from 'zod'
import type { ErrorRecord } from '../../errors.ts'
import { TroupeError, toTroupeError } from '../../errors.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import { parseStructuredOutput } from '../../kernel/session/structured-output.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { ContributionContent } from './contribution-parser.ts'
import { contentFromObject, contentFromPartialObject, contentFromText } from './contribution-parser.ts'
import type { Contribution } from './output.ts'
import { contributionSchema } from './output.ts'
import type { SpecialistPromptInput } from './prompts.ts'
import { specialistPrompt } from './prompts.ts'
import type { Specialist } from './specialists.ts'

/** What every specialist of one collaboration is asked with. */
export interface ContributionContext {
  context: Context
  shared: string
  /** The shape of answers; none: prose is asked for. */
  schema: z.ZodType | undefined
  categories: readonly string[] | undefined
  cache: boolean
}

export interface SpecialistRequest {
  key: string
  previous?: SpecialistPromptInput['previous']
  subtask?: string
  model?: string
}

export function createContributionContext(
  context: Context,
  shared: string,
  input: ContributionOptions,
): ContributionContext {
  const { categories, structured, cache } = input
  return { context, shared, schema: structured ? contributionSchema(categories) : undefined, categories, cache }
}

interface ContributionOptions {
  categories?: string[] | undefined
  structured: boolean
  cache: boolean
}

/** One specialist's answer. Its failure is a contribution too: nobody's failure sinks the others. */
export async function requestContribution(
  site: ContributionContext,
  specialist: Specialist,
  question: SpecialistRequest,
): Promise<Contribution> {
  const { context } = site
  const { key, previous, subtask } = question
  const about = { agent: specialist.name, role: specialist.role, ...(subtask === undefined ? undefined : { subtask }) }
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', about)
  const instruction = specialistPrompt({
    shared: site.shared,
    specialist,
    ...(previous ? { previous } : undefined),
    ...(subtask === undefined ? undefined : { subtask }),
  })
  const answer = await performWithCache(site, specialist, { ...question, instruction })
  const contribution = { ...answer, ...(subtask === undefined ? undefined : { subtask }) }
  emitContribution(context, key, contribution)
  return contribution
}

/** What one says who was asked again, and why it could not, where it could not. */
export interface FollowUp {
  contribution: Contribution
  error?: ErrorRecord
}

/** Asks one that has already spoken once more, in the same session. Who recommends nothing new keeps what it had said. */
export async function requestFollowUp(
  site: ContributionContext,
  { who, earlier, key, instruction }: { who: Specialist; earlier: Contribution; key: string; instruction: string },
): Promise<FollowUp> {
  const { context, schema } = site
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', { agent: who.name, role: who.role })
  const resume = earlier.session_id ?? ''
  const request = { instruction, resume, ...(schema ? { output: schema } : undefined) }
  const now = await performSpecialist(site, who, { key, request })
  // A session that goes on counts from its beginning, also where that was in another run.
  const tokens_used = Math.max(earlier.tokens_used, now.tokens_used - (earlier.saved_tokens ?? 0))
  emitContribution(context, key, { ...now, tokens_used: tokens_used - earlier.tokens_used })
  const { recommendation, confidence, subtask } = earlier
  const further = now.error || now.response.trim() === '' ? '' : `\n\nAfter hearing the others: ${now.response}`
  const kept =
    now.recommendation === null
      ? { ...earlier, response: earlier.response + further }
      : { ...now, before: { recommendation, confidence } }
  const contribution = { ...kept, ...(subtask === undefined ? undefined : { subtask }), tokens_used }
  return { contribution, ...(now.error ? { error: now.error } : undefined) }
}

async function performWithCache(
  site: ContributionContext,
  who: Specialist,
  question: SpecialistRequest & { instruction: string },
) {
  const { context, schema, cache } = site
  const { key, instruction, model = who.agent.model } = question
  const request: PerformRequest = {
    instruction,
    ...(model === undefined ? undefined : { model }),
    ...(schema ? { output: schema } : undefined),
    ...(who.readOnly ? { readOnly: who.readOnly } : undefined),
  }
  if (!cache || !context.isReadOnly(who.agent, request)) return performWithTextFallback(site, who, { key, request })
  const shape = { structured: schema !== undefined, categories: site.categories ?? null }
  const cache_key = sha256(canonicalJson({ agent: who.agent, instruction, model: model ?? null, ...shape }))
  const known = await context.cachedResult(`${key}/cached`, cache_key)
  if (known) {
    const contribution = toContribution(site, who, known)
    return { ...contribution, tokens_used: 0, cached: true as const, saved_tokens: contribution.tokens_used }
  }
  return performWithTextFallback(site, who, { key, request: { ...request, cache_key } })
}

/** A provider that cannot ask for a shape at all is asked for words. */
async function performWithTextFallback(
  site: ContributionContext,
  who: Specialist,
  asked: { key: string; request: PerformRequest },
) {
  const said = await performSpecialist(site, who, asked)
  if (said.error?.code !== 'model_unsupported' || !site.schema) return said
  const { output: _output, cache_key: _cache, ...request } = asked.request
  const words = await performSpecialist({ ...site, schema: undefined }, who, { key: `words/${asked.key}`, request })
  return { ...words, tokens_used: words.tokens_used + said.tokens_used }
}

async function performSpecialist(
  site: ContributionContext,
  who: Specialist,
  { key, request }: { key: string; request: PerformRequest },
): Promise<Contribution> {
  try {
    const agent = request.resume === undefined ? who.agent : undefined
    return toContribution(site, who, await site.context.perform(agent, request, { key }))
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    return { ...emptyContribution(who), status: 'failed', error: error.toJSON() }
  }
}

function emitContribution(context: Context, key: string, contribution: Contribution): void {
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

/** Nothing, from one who has to be named all the same. */
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

/** A model that cannot keep to the shape has still said something. */
function toContribution(site: ContributionContext, who: Specialist, result: SessionResult): Contribution {
  const { session_id, usage, text, error } = result
  const said = { ...emptyContribution(who), session_id, tokens_used: usage.input + usage.output }
  const prose = error?.code === 'model_invalid_response' && text.trim() !== ''
  if (result.status !== 'completed' && !prose) {
    const status = result.stop_reason === 'timeout' ? ('timeout' as const) : ('failed' as const)
    const why = error ?? new TroupeError('model_failed', `it ended: ${result.stop_reason}`).toJSON()
    return { ...said, response: text, status, error: why }
  }
  const status = prose || result.stop_reason === 'completed' ? ('completed' as const) : ('partial' as const)
  return { ...said, ...toContent(site, result), status }
}

function toContent({ schema, categories }: ContributionContext, { object, text }: SessionResult): ContributionContent {
  if (!schema) return contentFromText(text, categories)
  // A cached result brings its text alone.
  const fitted = object === undefined ? parseStructuredOutput(schema, text) : { ok: true as const, object }
  return fitted.ok
    ? contentFromObject(fitted.object)
    : (contentFromPartialObject(text, categories) ?? contentFromText(text, categories))
}
