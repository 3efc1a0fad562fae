import { TroupeError, toTroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Context } from '../kernel/context.ts'
import { isFatal } from '../kernel/journal/fatal-error.ts'
import type { Answer, AnswerRequest, PerformRequest } from '../kernel/session-request.ts'
import type { SessionResult } from '../kernel/session-result.ts'
import { totalTokens } from '../kernel/spend.ts'
import type { AnswerFields, AnswerShape } from '../schema/answer-shape.ts'
import { isListField, toStrictSchema } from '../schema/answer-shape.ts'
import { withJsonSchema } from '../schema/schema.ts'
import type { Schema } from '../schema/standard-schema.ts'
import * as z from '../schema/zod.ts'
import { jsonAnswer } from './prompt-text.ts'
import { readAnswer } from './read-answer.ts'

/*
 * The one way to ask a model for a typed answer.
 * 1. What is missing costs one request more at most each: another model, the same prompt without structured output, one correction.
 * 2. A failure is in the answer, never thrown, unless the execution itself has to end.
 */

type Requests = Pick<Context, 'perform' | 'cachedResult'>

/** Errors of a model that does not exist, as a role such as `fast` may not. */
const MISSING_MODEL_CODES = new Set(['unknown_model', 'no_model'])

export async function requestAnswer<const S extends AnswerShape>(
  context: Requests,
  { key, agent, prompt, answer: shape, preferredModel, cachedAs, check, keys, ...options }: AnswerRequest<S>,
): Promise<Answer<S>> {
  const form = shape && answerForm(shape, prompt, options)
  const request = { ...options, ...form, instruction: form?.instruction ?? prompt }
  const model = preferredModel ?? options.model ?? agent?.model
  const cached =
    cachedAs === undefined ? undefined : await context.cachedResult(cachedAs, options.cache_key ?? '', model)
  if (cached) return { ...toAnswer(shape, cached, options), cached: true, tokens: 0 }
  const perform = async (performed: Agent | undefined, each: PerformRequest, at: string) => {
    try {
      return await context.perform(performed, each, { key: at })
    } catch (thrown) {
      return failedSession(agent, thrown)
    }
  }
  const preferred = agent && preferredModel !== undefined ? { ...agent, model: preferredModel } : agent
  const sessions = [await perform(preferred, request, key)]
  const isMissing = preferred !== agent && MISSING_MODEL_CODES.has(last(sessions).error?.code ?? '')
  if (isMissing) sessions.push(await perform(agent, request, `${key}/fallback`))
  const hasNoForm = form !== undefined && last(sessions).error?.code === 'model_unsupported'
  if (hasNoForm) {
    const { output: _output, allowText: _allowText, cache_key: _cacheKey, ...inWords } = request
    sessions.push(await perform(isMissing ? agent : preferred, inWords, keys?.text ?? `${key}/text`))
  }
  const first: Answer<S> = { ...toAnswer(shape, last(sessions), options), tokens: tokensOf(sessions) }
  const correction = await check?.(first)
  if (correction === undefined || first.status !== 'completed') return first
  const { internal, allowText, keep } = options
  const again = {
    instruction: correction,
    resume: first.session_id,
    ...(hasNoForm || !form ? undefined : { output: form.output, ...(allowText && { allowText }) }),
    ...(internal && { internal }),
    ...(keep && { keep }),
  }
  sessions.push(await perform(undefined, again, keys?.correction ?? `${key}/correction`))
  return { ...toAnswer(shape, last(sessions), options), tokens: tokensOf(sessions), first }
}

/** The instruction with the form of the answer, and its schema. A session that goes on knows the form, and so does a prompt that shows the example. */
export function answerForm(
  shape: AnswerShape,
  prompt: string,
  { resume, allowText }: Pick<PerformRequest, 'resume' | 'allowText'> = {},
): { instruction: string; output: Schema } {
  const { rules = [], example } = shape
  const isKnown = resume !== undefined || prompt.includes(JSON.stringify(example))
  const instruction = isKnown ? prompt : `${prompt}\n${jsonAnswer(rules, example)}`
  return { instruction, output: answerSchema(shape, allowText === true) }
}

const schemas = new WeakMap<AnswerFields, Map<boolean, Schema>>()

/** Strict for the server; what is read leniently must not be sent back. Without `allowText`, an answer needs its lists of objects. */
function answerSchema({ fields }: AnswerShape, allowText: boolean): Schema {
  const known = schemas.get(fields) ?? new Map<boolean, Schema>()
  schemas.set(fields, known)
  const lists = Object.entries(fields).filter(([, field]) => isListField(field) && typeof field[0] === 'object')
  const required = allowText ? [] : lists.map(([name]) => [name, z.array(z.unknown())])
  const schema =
    known.get(allowText) ?? withJsonSchema(z.looseObject(Object.fromEntries(required)), toStrictSchema(fields))
  known.set(allowText, schema)
  return schema
}

function toAnswer<const S extends AnswerShape>(
  shape: S | undefined,
  session: SessionResult,
  { allowText }: Pick<PerformRequest, 'allowText'>,
): Omit<Answer<S>, 'tokens'> {
  const { value, ...read } = shape ? readAnswer(shape, session) : { value: undefined, notes: [], isCutOff: false }
  const isMissing = shape !== undefined && value === undefined && allowText !== true && session.error === null
  return { ...session, ...read, value, error: isMissing ? missingAnswerError(shape) : session.error }
}

function missingAnswerError({ fields }: AnswerShape) {
  const message = `the answer has none of the fields ${Object.keys(fields).join(', ')}`
  const hint = 'choose a stronger `model`, or accept text with `allowText`'
  return new TroupeError('model_invalid_response', message, { hint }).toJSON()
}

const NO_USAGE = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0, calls: 0 }

/** A session that could not even be opened is a failed one. */
function failedSession(agent: Agent | undefined, thrown: unknown): SessionResult {
  const error = toTroupeError(thrown)
  if (isFatal(error)) throw error
  const failed = { status: 'failed', stop_reason: 'failed', text: '', turn_count: 0, error: error.toJSON() } as const
  return { session_id: '', agent: agent?.name ?? '', ...failed, usage: NO_USAGE }
}

/** The usage of a session that goes on includes its earlier turns. */
function tokensOf(sessions: readonly SessionResult[]): number {
  const bySession = new Map(sessions.map(({ session_id, usage }) => [session_id, totalTokens(usage)]))
  return [...bySession.values()].reduce((sum, tokens) => sum + tokens, 0)
}

function last(sessions: readonly SessionResult[]): SessionResult {
  return sessions.at(-1) as SessionResult
}
