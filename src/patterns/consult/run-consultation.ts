import type { PatternResult } from '../../kernel/pattern.ts'
import type { ConsultConfig } from './consult-config.ts'
import { DEFAULT_CONSULT_CONFIG } from './consult-config.ts'
import { consultSpecialists, recordFailure } from './consult-specialists.ts'
import type { Consultation } from './consultation.ts'
import { toRequest } from './consultation.ts'
import { continueConsultation } from './continue-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultInput, ConsultToolInput } from './input.ts'
import { readLoopHistory } from './loops/loop-history.ts'
import { readAtOnce } from './read-at-once.ts'
import { respondToLoop } from './respond-to-loop.ts'
import { readRecords } from './routing/load-and-history.ts'

/** Takes a question to a specialist and returns the answer, or continues an earlier consultation. */
export async function runConsultation(
  config: ConsultConfig = DEFAULT_CONSULT_CONFIG,
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
  return recordFailure(consultation, async () => {
    const { history, records } = await readBefore(consultation)
    return (await respondToLoop(consultation, history)) ?? consultSpecialists(consultation, { background, records })
  })
}

/** The recent consultations of the asker, and the load and past success of the specialists. */
function readBefore({ context, config: { limits }, request }: Consultation) {
  const { requesting_agent: agent, collaboration_id } = request
  const asked = { collaboration_id, agent, window: limits, max_active: limits.max_active_collaborations_per_agent }
  return readAtOnce(context, { key: 'before', earlier: 'loops/now' }, async (reading) => ({
    history: await readLoopHistory(reading, { ...asked, key: 'loops' }),
    // Release 0.1.0 read them when it had found no loop.
    ...(reading === context ? undefined : { records: await readRecords(reading, 'records') }),
  }))
}
