import { haveSameAnswer } from '../../../judgement/similarity/same-question.ts'
import type { Embedder } from '../../../kernel/embedder.ts'
import type { KnowledgeMatch } from '../../../kernel/knowledge.ts'
import type { ConsultationAnswer, KnowledgeOrigin } from '../output.ts'
import type { ConsultationRequest } from '../request.ts'
import { searchOrCompareWords } from './find-similar.ts'
import type { LearningSettings } from './learning-settings.ts'
import type { LearningContext } from './store-consultation.ts'
import type { StoredConsultation } from './stored-consultation.ts'
import { contextHash, parseStored } from './stored-consultation.ts'

const DAY_MS = 86_400_000
/** The same question is among the nearest. */
const MAX_CANDIDATES = 10
/** A longer text is no question that is asked again word by word. */
const MAX_QUESTION_LENGTH = 2000

/** An answer of an earlier consultation, with where it comes from. */
export interface StoredAnswer {
  answer: ConsultationAnswer
  from: KnowledgeOrigin
  /** How the questions were compared. */
  method: KnowledgeMatch['method']
  /** For the asker, in one sentence. */
  note: string
}

export interface KnowledgeAnswerQuery {
  request: ConsultationRequest
  /** Only answers of this specialist. */
  agent?: string
  config: { knowledge: LearningSettings }
  key: string
}

/**
 * The stored answer to the same question, if `consult.knowledge.answer` allows it: asked with the same code, errors and files, rated at least `min_rating`,
 * not older than `max_age_days`, and past the guards for opposites, numbers, names and negation.
 */
export async function answerFromKnowledge(
  context: LearningContext,
  { request, agent, config: { knowledge: settings }, key }: KnowledgeAnswerQuery,
): Promise<StoredAnswer | undefined> {
  const { knowledge, embedder } = context
  if (!knowledge || settings.answer === 'never' || request.question.length > MAX_QUESTION_LENGTH) return undefined
  const now = await context.now(`${key}/now`)
  const found = await context.step(`${key}/answer`, async (signal) => {
    const tags = {
      ...(agent === undefined ? undefined : { specialist_agent: agent }),
      ...(request.consultation_reason === undefined ? undefined : { consultation_reason: request.consultation_reason }),
    }
    const query = { text: request.question, kind: 'agent_collaboration' as const, tags, limit: MAX_CANDIDATES, now }
    const matches = await searchOrCompareWords(knowledge, query, signal)
    for (const match of matches) {
      const stored = parseStored(match.document.data)
      const usable = stored && isUsable(stored, { request, settings, age_ms: now - match.document.at })
      if (usable && isRepeated(request.question, match, embedder)) return toAnswer(stored, match, now)
    }
    return null
  })
  return found ?? undefined
}

function isUsable(
  { success_rating, outcome, context_hash, collaboration_id }: StoredConsultation,
  { request, settings, age_ms }: { request: ConsultationRequest; settings: LearningSettings; age_ms: number },
): boolean {
  return (
    outcome === 'successful' &&
    success_rating !== undefined &&
    success_rating >= settings.min_rating &&
    age_ms <= settings.max_age_days * DAY_MS &&
    context_hash === contextHash(request) &&
    collaboration_id !== request.collaboration_id
  )
}

function isRepeated(question: string, match: KnowledgeMatch, embedder: Embedder | undefined): boolean {
  const { document, similarity, method } = match
  const threshold = embedder?.question_threshold ?? embedder?.threshold
  const measured = method === 'embedding' && threshold !== undefined ? { similarity, threshold } : undefined
  return haveSameAnswer(question, document.text, measured)
}

function toAnswer(stored: StoredConsultation, { document, method }: KnowledgeMatch, now: number): StoredAnswer {
  const { collaboration_id, success_rating: rating = 1, answer } = stored
  const age_days = Math.floor((now - document.at) / DAY_MS)
  const age = age_days === 0 ? 'today' : age_days === 1 ? 'yesterday' : `${age_days} days ago`
  return {
    answer: { ...answer, source: 'knowledge' },
    from: { collaboration_id, age_days, rating },
    method,
    note: `${answer.consulted_agent} gave this answer ${age} to the same question (consultation ${collaboration_id}, rated ${rating} of 5). Nobody was asked again.`,
  }
}
