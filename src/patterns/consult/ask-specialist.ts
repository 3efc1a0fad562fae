import type { ErrorRecord } from '../../errors.ts'
import { errorFromRecord, toTroupeError } from '../../errors.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import type { AnswerRequest } from '../../kernel/session-request.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { Spend } from '../../kernel/spend.ts'
import { isConfigurationError } from './configuration-error.ts'
import type { Consultation } from './consultation.ts'
import { specialistAgent } from './consultation.ts'
import { buildContextPackage } from './context-package/build-context-package.ts'
import { formatContextPackage } from './context-package/package-prompt.ts'
import { findSimilar } from './learning/find-similar.ts'
import { readAtOnce } from './read-at-once.ts'
import { queueRank } from './request.ts'
import type { SpecialistChoice } from './routing/select-specialist.ts'
import type { SpecialistAnswer } from './specialist-answer.ts'
import { parseSpecialistAnswer, specialistAnswer } from './specialist-answer.ts'

/** A specialist that did not answer. `errors` has `null` where it simply gave no answer, and nothing for one that is not asked again. */
export interface SpecialistFailure {
  agent: string
  problem: string
  errors: readonly (ErrorRecord | null)[]
  /** The errors of sessions in the background whose results were collected. */
  collected?: readonly (ErrorRecord | null)[]
}

/** What came of asking one specialist. */
export type SpecialistOutcome =
  | { kind: 'answer' | 'clarification'; agent: string; answer: SpecialistAnswer }
  | { kind: 'timeout'; agent: string; partial: string }
  /** Another specialist can be asked. */
  | ({ kind: 'failed' } & SpecialistFailure)
  /** The run itself cannot go on: no budget, cancelled, or a model that cannot be used. */
  | { kind: 'stopped'; agent: string; session: SessionResult; errors: readonly ErrorRecord[] }

/** The key of the request to one specialist of an attempt. */
export function specialistKey(attempt: number, index = 0): string {
  return `specialist/${attempt}${index === 0 ? '' : `-${index}`}`
}

/** One question to one specialist, in a session under this key. */
export interface SpecialistQuestion {
  choice: Pick<SpecialistChoice, 'reason'>
  agent: string
  key: string
  exchange_number: number
  /** The items of the context package, if the specialist got one with the question. */
  context_provided?: Record<string, unknown>
  /** The spend of a session that did not run under `key`. */
  spend?: Pick<Spend, 'input' | 'output' | 'usd'>
}

type SpecialistRequest = Omit<AnswerRequest<typeof specialistAnswer>, 'key' | 'agent'>

/** A question with its context package, and the request that opens the specialist's session. */
export interface PreparedQuestion {
  question: SpecialistQuestion
  request: SpecialistRequest
}

/** The request that opens the specialist's session: the context package, and the place in the asker's queue. */
export async function prepareQuestion(
  { context, config, request }: Consultation,
  question: SpecialistQuestion,
): Promise<PreparedQuestion> {
  const { key, agent, choice } = question
  const asked = { request, agent, reason: choice.reason }
  const step = { key: `${key}-context`, earlier: `${key}-asked-at` }
  const { at, packed } = await readAtOnce(context, step, async (reading) => {
    const now = await reading.now(step.earlier)
    const similar = await findSimilar(reading, { ...asked, key: `${key}-similar` })
    return { at: now, packed: await buildContextPackage(reading, { ...asked, similar, config, key: step.key }) }
  })
  const { items, left_out, tokens, redacted, method } = packed
  context.emit(`${key}-package`, 'consult:package', {
    ...{ collaboration_id: request.collaboration_id, agent, items, left_out, tokens, redacted, method },
  })
  const opening: SpecialistRequest = {
    prompt: formatContextPackage(packed),
    answer: specialistAnswer,
    allowText: true,
    countDowntime: true,
    queue: {
      // Per asking session: places that a whole role shares could make two chains of consultations wait for each other.
      name: `consult ${context.caller?.session_id ?? 'run'}`,
      limit: config.limits.max_active_collaborations_per_agent,
      rank: queueRank(request.urgency, at),
    },
  }
  return { question: { ...question, context_provided: { items, left_out, tokens, method } }, request: opening }
}

/** Records the question of the asker as an exchange. */
export function recordQuestion(consultation: Consultation, question: SpecialistQuestion, text: string): void {
  const { context, request } = consultation
  const { collaboration_id, requesting_agent } = request
  consultation.history.push(`${requesting_agent} → ${question.agent}: ${text}`)
  context.emit(`${question.key}-question`, 'consult:exchange', {
    collaboration_id,
    exchange_number: question.exchange_number,
    from_agent: requesting_agent,
    to_agent: question.agent,
    message_type: 'question',
    ...(question.context_provided ? { context_provided: question.context_provided } : undefined),
    message_content: { question: text, ...(question.exchange_number === 1 ? { context: request.context } : undefined) },
    tokens: {},
    cost_usd: null,
  })
}

/** Runs the specialist's session; a request that cannot be performed counts as a failure of the specialist. */
export async function askSpecialist(
  consultation: Consultation,
  question: SpecialistQuestion,
  request: SpecialistRequest,
): Promise<SpecialistOutcome> {
  const { context } = consultation
  const { agent, key } = question
  try {
    const specialist = request.resume === undefined ? specialistAgent(consultation, agent) : undefined
    const session = await context.request({ ...request, keep: true, key, agent: specialist })
    if (session.session_id === '' && session.error) throw errorFromRecord(session.error)
    return await readOutcome(consultation, question, session)
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error) || error.code === 'limit_reached' || isConfigurationError(error)) throw thrown
    return { kind: 'failed', agent, problem: error.message, errors: [error.toJSON()] }
  }
}

/** Records a specialist's reply as an exchange and says what it is. */
export async function readOutcome(
  consultation: Consultation,
  { agent, key, exchange_number, ...question }: SpecialistQuestion,
  session: SessionResult,
): Promise<SpecialistOutcome> {
  const { context, request } = consultation
  const { status, stop_reason, text, error } = session
  const spend = question.spend ?? (await context.readSpend(`${key}-spend`, { under: key }))
  const answer = parseSpecialistAnswer(session)
  const { clarification_needed } = answer
  const reply = clarification_needed ?? answer.answer
  if (text.trim() !== '') {
    consultation.history.push(`${agent} → ${request.requesting_agent}: ${reply}`)
    context.emit(`${key}-response`, 'consult:exchange', {
      collaboration_id: request.collaboration_id,
      exchange_number,
      from_agent: agent,
      to_agent: request.requesting_agent,
      message_type: clarification_needed === undefined ? 'response' : 'clarification',
      message_content: { ...answer },
      tokens: { request: spend.input, response: spend.output },
      cost_usd: spend.usd,
    })
  }
  const isStopped = error !== null && (isConfigurationError(error) || isAboveSpecialist(context, error))
  if (stop_reason === 'budget' || stop_reason === 'cancelled' || isStopped)
    return { kind: 'stopped', agent, session, errors: error ? [error] : [] }
  if (stop_reason === 'timeout') return { kind: 'timeout', agent, partial: text }
  if (status !== 'completed' || reply === '') {
    return { kind: 'failed', agent, problem: error?.message ?? 'it gave no answer', errors: [error] }
  }
  return { kind: clarification_needed === undefined ? 'answer' : 'clarification', agent, answer }
}

/** True if the time of the asker was up, or of a session above it, and not that of the specialist. */
function isAboveSpecialist({ path }: Consultation['context'], { code, step }: ErrorRecord): boolean {
  return code === 'timeout' && step !== undefined && `${path}/`.startsWith(`${step}/`)
}
