import * as z from '../../schema/zod.ts'
import { consultationStatuses } from './request.ts'

const response = z.strictObject({
  answer: z.string(),
  additional_context: z.string().optional(),
  code_reference: z.string().optional(),
})

/** An answer as it is delivered to the asker. */
export const consultationAnswer = z.strictObject({
  /** The agent that answered; `orchestrator` if it answered itself, `user` for a person. */
  consulted_agent: z.string(),
  response,
  suggested_next_steps: z.array(z.string()),
  /** 0 to 1, as the specialist states it; absent if it does not. */
  confidence: z.number().min(0).max(1).optional(),
  source: z.enum(['specialist', 'orchestrator', 'knowledge', 'person']),
})
export type ConsultationAnswer = z.output<typeof consultationAnswer>

/** The result of a consultation. */
export const consultOutput = z.strictObject({
  collaboration_id: z.string(),
  status: z.enum(consultationStatuses),
  /** `null` until an agent is chosen. */
  consulted_agent: z.string().nullable(),
  /** `null` without an answer. */
  response: response.nullable(),
  suggested_next_steps: z.array(z.string()),
  confidence: z.number().optional(),
  source: consultationAnswer.shape.source.optional(),
  /** The specialist's question to the asker, who answers with another call that has this `collaboration_id`. */
  clarification_needed: z.string().optional(),
  /** The facts that are needed for an answer and that nobody who can be asked has. */
  missing_information: z.array(z.string()).optional(),
  /** What the asker should know or do next. */
  note: z.string().optional(),
})
export type ConsultOutput = z.output<typeof consultOutput>
