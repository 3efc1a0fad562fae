import type { z } from 'zod'
import type { ErrorRecord } from '../../errors.ts'
import { asTroupeError, TroupeError } from '../../errors.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import { isFatal } from '../../kernel/fatal.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import type { SessionResult } from '../../kernel/session.ts'
import { readAs } from '../../kernel/structured.ts'
import type { Answer } from './answer-form.ts'
import { answerIn, answerInWords, answerNear } from './answer-form.ts'
import type { Contribution } from './output.ts'
import { contributionSchema } from './output.ts'
import type { Asked } from './prompts.ts'
import { specialistPrompt } from './prompts.ts'
import type { Specialist } from './specialists.ts'

/** What every specialist of one collaboration is asked with. */
export interface Asking {
  context: Context
  shared: string
  /** The shape of answers; none: prose is asked for. */
  schema: z.ZodType | undefined
  categories: readonly string[] | undefined
  cache: boolean
}

export interface Question {
  key: string
  previous?: Asked['previous']
  subtask?: string
  model?: string
}

export function asking(context: Context, shared: string, input: AskedInput): Asking {
  const { categories, structured, cache } = input
  return { context, shared, schema: structured ? contributionSchema(categories) : undefined, categories, cache }
}

interface AskedInput {
  categories?: string[] | undefined
  structured: boolean
  cache: boolean
}

/** One specialist's answer. Its failure is a contribution too: nobody's failure sinks the others. */
export async function contribute(site: Asking, who: Specialist, question: Question): Promise<Contribution> {
  const { context } = site
  const { key, previous, subtask } = question
  const about = { agent: who.name, role: who.role, ...(subtask === undefined ? undefined : { subtask }) }
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', about)
  const instruction = specialistPrompt({
    shared: site.shared,
    who,
    ...(previous ? { previous } : undefined),
    ...(subtask === undefined ? undefined : { subtask }),
  })
  const answer = await answered(site, who, { ...question, instruction })
  const contribution = { ...answer, ...(subtask === undefined ? undefined : { subtask }) }
  tell(context, key, contribution)
  return contribution
}

/** What one says who was asked again, and why it could not, where it could not. */
export interface Again {
  contribution: Contribution
  error?: ErrorRecord
}

/** Asks one that has already spoken once more, in the same session. Who recommends nothing new keeps what it had said. */
export async function askAgain(
  site: Asking,
  { who, earlier, key, instruction }: { who: Specialist; earlier: Contribution; key: string; instruction: string },
): Promise<Again> {
  const { context, schema } = site
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', { agent: who.name, role: who.role })
  const resume = earlier.session_id ?? ''
  const request = { instruction, resume, ...(schema ? { output: schema } : undefined) }
  const now = await performed(site, who, { key, request })
  // A session that goes on counts from its beginning, also where that was in another run.
  const tokens_used = Math.max(earlier.tokens_used, now.tokens_used - (earlier.saved_tokens ?? 0))
  tell(context, key, { ...now, tokens_used: tokens_used - earlier.tokens_used })
  const { recommendation, confidence, subtask } = earlier
  const further = now.error || now.response.trim() === '' ? '' : `\n\nAfter hearing the others: ${now.response}`
  const kept =
    now.recommendation === null
      ? { ...earlier, response: earlier.response + further }
      : { ...now, before: { recommendation, confidence } }
  const contribution = { ...kept, ...(subtask === undefined ? undefined : { subtask }), tokens_used }
  return { contribution, ...(now.error ? { error: now.error } : undefined) }
}

async function answered(site: Asking, who: Specialist, question: Question & { instruction: string }) {
  const { context, schema, cache } = site
  const { key, instruction, model = who.agent.model } = question
  const request: PerformRequest = {
    instruction,
    ...(model === undefined ? undefined : { model }),
    ...(schema ? { output: schema } : undefined),
    ...(who.reading ? { reading: who.reading } : undefined),
  }
  if (!cache || !context.onlyReads(who.agent, request)) return inWordsIfNeeded(site, who, { key, request })
  const shape = { structured: schema !== undefined, categories: site.categories ?? null }
  const cache_key = sha256(canonicalJson({ agent: who.agent, instruction, model: model ?? null, ...shape }))
  const known = await context.cached(`${key}/cached`, cache_key)
  if (known) {
    const contribution = contributionOf(site, who, known)
    return { ...contribution, tokens_used: 0, cached: true as const, saved_tokens: contribution.tokens_used }
  }
  return inWordsIfNeeded(site, who, { key, request: { ...request, cache_key } })
}

/** A provider that cannot ask for a shape at all is asked for words. */
async function inWordsIfNeeded(site: Asking, who: Specialist, asked: { key: string; request: PerformRequest }) {
  const said = await performed(site, who, asked)
  if (said.error?.code !== 'model_unsupported' || !site.schema) return said
  const { output: _output, cache_key: _cache, ...request } = asked.request
  const words = await performed({ ...site, schema: undefined }, who, { key: `words/${asked.key}`, request })
  return { ...words, tokens_used: words.tokens_used + said.tokens_used }
}

async function performed(
  site: Asking,
  who: Specialist,
  { key, request }: { key: string; request: PerformRequest },
): Promise<Contribution> {
  try {
    const agent = request.resume === undefined ? who.agent : undefined
    return contributionOf(site, who, await site.context.perform(agent, request, { key }))
  } catch (thrown) {
    const error = asTroupeError(thrown)
    if (isFatal(error)) throw error
    return { ...unsaid(who), status: 'failed', error: error.toJSON() }
  }
}

function tell(context: Context, key: string, contribution: Contribution): void {
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
export function unsaid({ name, role }: Pick<Specialist, 'name' | 'role'>): Omit<Contribution, 'status'> {
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
function contributionOf(site: Asking, who: Specialist, result: SessionResult): Contribution {
  const { session_id, usage, text, error } = result
  const said = { ...unsaid(who), session_id, tokens_used: usage.input + usage.output }
  const prose = error?.code === 'model_garbage' && text.trim() !== ''
  if (result.status !== 'completed' && !prose) {
    const status = result.stop_reason === 'timeout' ? ('timeout' as const) : ('failed' as const)
    const why = error ?? new TroupeError('model_failed', `it ended: ${result.stop_reason}`).toJSON()
    return { ...said, response: text, status, error: why }
  }
  const status = prose || result.stop_reason === 'completed' ? ('completed' as const) : ('partial' as const)
  return { ...said, ...answerOf(site, result), status }
}

function answerOf({ schema, categories }: Asking, { object, text }: SessionResult): Answer {
  if (!schema) return answerInWords(text, categories)
  // A cached result brings its text alone.
  const fitted = object === undefined ? readAs(schema, text) : { ok: true as const, object }
  return fitted.ok ? answerIn(fitted.object) : (answerNear(text, categories) ?? answerInWords(text, categories))
}
