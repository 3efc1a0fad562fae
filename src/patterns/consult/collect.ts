import type { PatternResult } from '../../kernel/pattern.ts'
import { readOutcome } from './ask-specialist.ts'
import type { ConsultConfig } from './consult-config.ts'
import { consultSpecialists, deliverOutcome, recordFailure } from './consult-specialists.ts'
import { readConsultation } from './earlier-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultResultInput } from './input.ts'
import type { ConsultOutput } from './output.ts'

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
  const session = await context.collect('session', session_id, wait)
  if (!session) return { success: true, output: pending }
  return recordFailure(consultation, async () => {
    const question = {
      choice: { reason: consultation.reason },
      agent: specialist_agent,
      key: 'collected',
      exchange_number: Math.max(1, consultation.exchange_number),
    }
    const outcome = await readOutcome(consultation, question, session)
    if (outcome.kind !== 'failed') return { ...(await deliverOutcome(consultation, outcome)), collected }
    const { agent, problem } = outcome
    consultation.excluded.push(agent)
    const previous = { agent, reason: consultation.reason, problem }
    return { ...(await consultSpecialists(consultation, { previous, firstAttempt: 2 })), collected }
  })
}
