import type { PatternResult } from '../../kernel/pattern.ts'
import type { ConsultConfig } from './consult-config.ts'
import { consultSpecialists, recordFailure } from './consult-specialists.ts'
import type { Consultation } from './consultation.ts'
import { toRequest } from './consultation.ts'
import { continueConsultation } from './continue-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultInput, ConsultToolInput } from './input.ts'
import { respondToLoop } from './respond-to-loop.ts'

/** Takes a question to a specialist and returns the answer, or continues an earlier consultation. */
export async function runConsultation(
  config: ConsultConfig,
  context: ConsultContext,
  input: ConsultInput | ConsultToolInput,
): Promise<PatternResult> {
  if (input.collaboration_id !== undefined) {
    return continueConsultation(config, context, { ...input, collaboration_id: input.collaboration_id })
  }
  const request = await toRequest(context, input)
  const consultation: Consultation = {
    ...{ config, context, request, history: [], excluded: [] },
    reason: request.consultation_reason ?? '',
  }
  context.emit('request', 'consult:request', request)
  const background = 'background' in input && input.background === true
  return recordFailure(
    consultation,
    async () => (await respondToLoop(consultation)) ?? consultSpecialists(consultation, { background }),
  )
}
