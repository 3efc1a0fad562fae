import type { PatternResult } from '../../kernel/pattern.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { SpecialistOutcome } from './ask-specialist.ts'
import { readOutcome } from './ask-specialist.ts'
import type { ConsultConfig } from './consult-config.ts'
import { DEFAULT_CONSULT_CONFIG } from './consult-config.ts'
import { consultSpecialists, deliverOutcome, recordFailure } from './consult-specialists.ts'
import type { EarlierConsultation } from './earlier-consultation.ts'
import { readConsultation } from './earlier-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultResultInput } from './input.ts'
import type { ConsultOutput } from './output.ts'
import type { SpecialistAnswer } from './specialist-answer.ts'
import { synthesizeAnswers } from './synthesize-answers.ts'

/** The first one started the specialists in the background. */
const SECOND_ATTEMPT = 2

/** Gets the answer of a background consultation; waits for it unless `wait` is false. A failure is routed to another specialist. */
export async function collectConsultation(
  config: ConsultConfig = DEFAULT_CONSULT_CONFIG,
  context: ConsultContext,
  { collaboration_id, wait }: ConsultResultInput,
): Promise<PatternResult> {
  const consultation = await readConsultation(config, context, collaboration_id)
  const { sessions, status } = consultation
  const [first] = sessions
  const pending: ConsultOutput = {
    ...{ collaboration_id, status },
    consulted_agent: first ? sessions.map(({ agent }) => agent).join(', ') : consultation.specialist_agent,
    response: null,
    suggested_next_steps: [],
  }
  if (!first) return { success: true, output: pending }
  // The asker knows the first session only.
  const collected = [first.session_id]
  const earlier = collectedReply(consultation)
  if (earlier) return { success: true, output: { ...pending, ...earlier }, collected }
  const results: SessionResult[] = []
  for (const [index, { session_id }] of sessions.entries()) {
    const result = await context.collect(collectKey('session', index), session_id, { wait, scope: 'project' })
    if (!result) return { success: true, output: pending }
    results.push(result)
  }
  return recordFailure(consultation, async () => {
    const outcome = await readOutcomes(consultation, results)
    if (outcome.kind !== 'failed') return { ...(await deliverOutcome(consultation, outcome)), collected }
    const { agent, problem, errors } = outcome
    consultation.excluded.push(...sessions.map((session) => session.agent))
    // If others are asked, the result of the session is collected for good: resume asks the others.
    const previous = { agent, reason: consultation.reason, problem, errors: [], collected: errors }
    return { ...(await consultSpecialists(consultation, { previous, firstAttempt: SECOND_ATTEMPT })), collected }
  })
}

/** The key of a step about one of the sessions that are collected. */
function collectKey(step: string, index: number): string {
  return index === 0 ? step : `${step}-${index}`
}

/** Records the replies of the specialists, and makes one of several. */
async function readOutcomes(
  consultation: EarlierConsultation,
  results: readonly SessionResult[],
): Promise<SpecialistOutcome> {
  const { context, exchange_number, reason } = consultation
  const outcomes: SpecialistOutcome[] = []
  for (const [index, session] of results.entries()) {
    const { agent, usage } = session
    // The session ran under the call that started it.
    const { usd } = await context.priceUsage(collectKey('cost', index), usage, context.roster.get(agent).model)
    const question = {
      ...{ choice: { reason }, agent, key: collectKey('collected', index) },
      exchange_number: Math.max(1, exchange_number),
      spend: { ...usage, usd },
    }
    outcomes.push(await readOutcome(consultation, question, session))
  }
  const [first] = outcomes
  return outcomes.length === 1 && first ? first : synthesizeAnswers(consultation, outcomes)
}

/** The reply, if it was collected before: what is delivered and paid for is recorded once, and a rating stays. */
function collectedReply(consultation: EarlierConsultation): Partial<ConsultOutput> | undefined {
  const { exchanges, exchange_number, resolution_summary, status } = consultation
  const reply = exchanges.findLast(
    ({ exchange_number: number, message_type }) => number === exchange_number && message_type !== 'question',
  )
  const { clarification_needed, suggested_next_steps, confidence, ...response } = (reply?.message_content ??
    {}) as Partial<SpecialistAnswer>
  if (status === 'resolved' && resolution_summary !== undefined && response.answer !== resolution_summary)
    return { response: { answer: resolution_summary } }
  if (!reply) return undefined
  if (clarification_needed !== undefined) return { clarification_needed }
  return {
    response: { answer: '', ...response },
    suggested_next_steps: suggested_next_steps ?? [],
    ...(confidence === undefined ? undefined : { confidence }),
  }
}
