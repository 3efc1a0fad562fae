import { toTroupeError } from '../../../errors.ts'
import type { Context } from '../../../kernel/context.ts'
import type { Knowledge } from '../../../kernel/knowledge.ts'
import { redactJson } from '../../../kernel/redactor.ts'
import type { ConsultationAnswer } from '../output.ts'
import { readAtOnce } from '../read-at-once.ts'
import type { ConsultationRequest } from '../request.ts'
import type { StoredConsultation } from './stored-consultation.ts'
import { parseStored, toDocument } from './stored-consultation.ts'

/** What the pattern uses to learn. */
export type LearningContext = Pick<Context, 'knowledge' | 'redactor' | 'step' | 'isRecorded' | 'now' | 'run_id'>

export interface ResolvedConsultation {
  request: ConsultationRequest
  agent: string
  /** The `consultation_reason` that the orchestrator found. */
  reason: string
  answer: ConsultationAnswer
}

export interface ConsultationOutcome {
  outcome_type: 'successful' | 'escalated' | 'loop_detected'
  resolution_summary: string
  success_rating?: number | undefined
  lessons_learned?: string | undefined
}

/**
 * Stores a resolved consultation under its `collaboration_id`. Repeating it is safe: a rating that came in between is kept. An answer that came from the
 * knowledge is not stored again, nor one that a loop ended. Returns why it could not be stored: an answer that was paid for is delivered all the same.
 */
export async function storeConsultation(
  context: LearningContext,
  { consultation, outcome, key }: { consultation: ResolvedConsultation; outcome: ConsultationOutcome; key: string },
): Promise<string | null> {
  const { knowledge } = context
  const { outcome_type, success_rating, lessons_learned } = outcome
  const { source } = consultation.answer
  if (!knowledge || outcome_type === 'loop_detected' || (source !== 'specialist' && source !== 'person')) return null
  const { request, agent, reason, answer } = consultation
  const stored: StoredConsultation = {
    type: 'agent_collaboration',
    scenario: reason,
    agents_involved: [request.requesting_agent, agent],
    question_summary: request.question,
    resolution_summary: outcome.resolution_summary,
    outcome: outcome_type,
    ...(lessons_learned === undefined ? undefined : { lessons_learned }),
    ...(success_rating === undefined ? undefined : { success_rating }),
    collaboration_id: request.collaboration_id,
    run_id: context.run_id,
    answer,
  }
  return readAtOnce(context, { key: `${key}/store`, earlier: `${key}/now` }, async (reading) => {
    const at = await reading.now(`${key}/now`)
    return reading.step(`${key}/store`, (signal) => store(reading, { stored, at, signal }))
  })
}

async function store(
  context: LearningContext,
  { stored, at, signal }: { stored: StoredConsultation; at: number; signal: AbortSignal },
): Promise<string | null> {
  const { knowledge } = context
  try {
    const earlier = knowledge && (await readStored(knowledge, stored.collaboration_id))
    const rated = {
      ...(earlier?.lessons_learned === undefined ? undefined : { lessons_learned: earlier.lessons_learned }),
      ...(earlier?.success_rating === undefined ? undefined : { success_rating: earlier.success_rating }),
    }
    await knowledge?.add([toDocument(withoutSecrets(context, { ...rated, ...stored }), at)], signal)
    return null
  } catch (thrown) {
    signal.throwIfAborted()
    return toTroupeError(thrown).message
  }
}

export interface ConsultationRating {
  collaboration_id: string
  success_rating?: number | undefined
  lessons_learned?: string | undefined
}

/** Adds the asker's rating and lessons to a stored consultation, of this run or an earlier one; false if it is not stored. */
export async function storeRating(
  context: LearningContext,
  { rating, key }: { rating: ConsultationRating; key: string },
): Promise<boolean> {
  const { knowledge } = context
  if (!knowledge) return false
  const { collaboration_id, success_rating, lessons_learned } = rating
  return context.step(key, async (signal) => {
    const [document] = await knowledge.get('agent_collaboration', [collaboration_id])
    const stored = parseStored(document?.data)
    if (!document || !stored) return false
    const rated: StoredConsultation = {
      ...stored,
      ...(success_rating === undefined ? undefined : { success_rating }),
      ...(lessons_learned === undefined ? undefined : { lessons_learned }),
    }
    await knowledge.add([toDocument(withoutSecrets(context, rated), document.at)], signal)
    return true
  })
}

async function readStored(knowledge: Knowledge, collaboration_id: string): Promise<StoredConsultation | undefined> {
  const [document] = await knowledge.get('agent_collaboration', [collaboration_id])
  return parseStored(document?.data)
}

/** A secret that the asker or the specialist wrote down must not be offered to others for months. */
function withoutSecrets({ redactor }: LearningContext, stored: StoredConsultation): StoredConsultation {
  if (!redactor) return stored
  const { question_summary, resolution_summary, lessons_learned, answer } = stored
  const texts = { question_summary, resolution_summary, answer, ...(lessons_learned ? { lessons_learned } : undefined) }
  return { ...stored, ...(redactJson(redactor, texts) as typeof texts) }
}
