import { TroupeError } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import type { ConsultConfig } from './consult-config.ts'
import { DEFAULT_CONSULT_CONFIG } from './consult-config.ts'
import { USER_ASKER } from './consultation.ts'
import { readConsultation } from './earlier-consultation.ts'
import type { ConsultContext } from './events.ts'
import type { RateConsultationInput } from './input.ts'
import { storeRating } from './learning/store-consultation.ts'

/** Records the asker's rating of an answer. A second rating replaces the first. */
export async function recordRating(
  config: ConsultConfig = DEFAULT_CONSULT_CONFIG,
  context: ConsultContext,
  { collaboration_id, rating, lessons_learned }: RateConsultationInput,
): Promise<PatternResult> {
  const { status, success_rating } = await readConsultation(config, context, collaboration_id)
  if (status !== 'resolved' && status !== 'responded') {
    throw new TroupeError(
      'invalid_input',
      `\`collaboration_id\` ${collaboration_id} has the status ${status}: it has no answer`,
      {
        hint: 'rate a consultation after its answer',
      },
    )
  }
  context.emit('rated', 'consult:rated', {
    collaboration_id,
    success_rating: rating,
    ...(lessons_learned === undefined ? undefined : { lessons_learned }),
    rated_by: context.caller?.opening.agent.name ?? USER_ASKER,
  })
  const rated = { collaboration_id, success_rating: rating, lessons_learned }
  await storeRating(context, { rating: rated, key: 'learn' })
  return {
    success: true,
    output: {
      ...{ collaboration_id, success_rating: rating },
      ...(success_rating === null ? undefined : { replaced: success_rating }),
    },
  }
}
