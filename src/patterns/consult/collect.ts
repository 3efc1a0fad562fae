import type { PatternResult } from '../../kernel/pattern.ts'
import { readOutcome } from './ask-specialist.ts'
import type { ConsultConfig } from './consult-config.ts'
import { consultSpecialists, deliverOutcome, recordFailure } from './consult-specialists.ts'
import type { EarlierConsultation } from './earlier-consultation.ts'
import { readConsultation } from './earlier-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultResultInput } from './input.ts'
import type { ConsultOutput } from './output.ts'
import type { SpecialistAnswer } from './specialist-answer.ts'

/** Gets the answer of a background consultation; waits for it unless `wait` is false. A failure is routed to another specialist. */
export async function collectConsultation(
  config: ConsultConfig,
  context: ConsultContext,
  { collaboration_id, wait }: ConsultResultInput,
): Promise<PatternResult> {
  const consultation = await readConsultation(config, context, collaboration_id)
  const { specialist_agent, session_id, status } = consultation
  const collected = session_id === null ? [] : [session_id]
  const pending: ConsultOutput = {
    ...{ collaboration_id, status },
    consulted_agent: specialist_agent,
    response: null,
    suggested_next_steps: [],
  }
  if (session_id === null || specialist_agent === null) return { success: true, output: pending }
  const earlier = collectedReply(consultation)
  if (earlier) return { success: true, output: { ...pending, ...earlier }, collected }
  const session = await context.collect('session', session_id, { wait, scope: 'project' })
  if (!session) return { success: true, output: pending }
  return recordFailure(consultation, async () => {
    // The session ran under the call that started it.
    const { usd } = await context.priceUsage('cost', session.usage, context.roster.get(specialist_agent).model)
    const question = {
      choice: { reason: consultation.reason },
      agent: specialist_agent,
      key: 'collected',
      exchange_number: Math.max(1, consultation.exchange_number),
      spend: { ...session.usage, usd },
    }
    const outcome = await readOutcome(consultation, question, session)
    if (outcome.kind !== 'failed') return { ...(await deliverOutcome(consultation, outcome)), collected }
    const { agent, problem } = outcome
    consultation.excluded.push(agent)
    // The result of the session is collected for good: resume asks the others.
    const previous = { agent, reason: consultation.reason, problem, errors: [] }
    return { ...(await consultSpecialists(consultation, { previous, firstAttempt: 2 })), collected }
  })
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
