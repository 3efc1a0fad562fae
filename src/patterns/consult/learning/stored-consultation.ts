import type { KnowledgeDocument } from '../../../kernel/knowledge.ts'
import * as z from '../../../schema/zod.ts'
import { consultationAnswer } from '../output.ts'

/** A resolved consultation in the knowledge of the project. */
export const storedConsultation = z.object({
  type: z.literal('agent_collaboration'),
  /** The `consultation_reason`. */
  scenario: z.string(),
  /** The asker and the specialist. */
  agents_involved: z.array(z.string()).length(2),
  question_summary: z.string(),
  resolution_summary: z.string(),
  outcome: z.enum(['successful', 'escalated']),
  lessons_learned: z.string().optional(),
  success_rating: z.int().min(1).max(5).optional(),
  collaboration_id: z.string(),
  run_id: z.string(),
  answer: consultationAnswer,
})
export type StoredConsultation = z.output<typeof storedConsultation>

/** The document that a search finds by the question. */
export function toDocument(stored: StoredConsultation, at: number): KnowledgeDocument {
  const { collaboration_id, question_summary, scenario, agents_involved, success_rating } = stored
  return {
    id: collaboration_id,
    kind: 'agent_collaboration',
    text: question_summary,
    data: stored,
    tags: { specialist_agent: agents_involved[1] ?? '', consultation_reason: scenario },
    outcome: { success: true, ...(success_rating === undefined ? undefined : { rating: success_rating }) },
    at,
  }
}

/** `undefined` for data of another program or version. */
export function parseStored(data: unknown): StoredConsultation | undefined {
  return storedConsultation.safeParse(data).data
}
