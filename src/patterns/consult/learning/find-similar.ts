import { toTroupeError } from '../../../errors.ts'
import type { Knowledge, KnowledgeMatch, KnowledgeQuery } from '../../../kernel/knowledge.ts'
import type { ConsultationRequest } from '../request.ts'
import type { LearningContext } from './store-consultation.ts'
import { parseStored } from './stored-consultation.ts'

const MAX_SIMILAR = 3
/** Less similar questions have nothing to do with each other; by words, as many must be shared. */
const MIN_SIMILARITY = 0.35
const MAX_QUERY_LENGTH = 8000

export interface SimilarQuery {
  request: Pick<ConsultationRequest, 'question' | 'collaboration_id'>
  agent: string
  reason: string
  key: string
}

/** At most three resolved consultations of this specialist for this reason, the most helpful first; none that was rated 1 or 2. */
export async function findSimilar(
  context: LearningContext,
  { request, agent, reason, key }: SimilarQuery,
): Promise<KnowledgeMatch[]> {
  const { knowledge } = context
  if (!knowledge) return []
  const now = await context.now(`${key}/now`)
  const query: KnowledgeQuery = {
    text: request.question.slice(0, MAX_QUERY_LENGTH),
    kind: 'agent_collaboration',
    tags: { specialist_agent: agent, consultation_reason: reason },
    limit: MAX_SIMILAR + 1,
    now,
  }
  return context.step(`${key}/similar`, async (signal) => {
    const matches = await searchOrCompareWords(knowledge, query, signal)
    return matches
      .filter(({ document, similarity }) => document.id !== request.collaboration_id && similarity >= MIN_SIMILARITY)
      .filter(({ document }) => parseStored(document.data) !== undefined)
      .slice(0, MAX_SIMILAR)
  })
}

/** Vectors of another embedder must not end a consultation: words are compared instead, and `method` says so. */
async function searchOrCompareWords(
  knowledge: Knowledge,
  query: KnowledgeQuery,
  signal: AbortSignal,
): Promise<KnowledgeMatch[]> {
  try {
    return await knowledge.search(query, signal)
  } catch (error) {
    if (toTroupeError(error).code !== 'invalid_input') throw error
    return knowledge.search({ ...query, method: 'lexical' }, signal)
  }
}
