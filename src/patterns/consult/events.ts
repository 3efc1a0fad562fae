import type { ErrorRecord } from '../../errors.ts'
import type { Context } from '../../kernel/context.ts'
import type { DeclaredEvent, EmittedData } from '../../kernel/pattern.ts'
import * as z from '../../schema/zod.ts'
import { consultationAnswer } from './output.ts'
import { consultationRequest } from './request.ts'

const collaboration = { collaboration_id: z.string() }

/** Tokens by phase: the request to the specialist, the routing, the response, and its delivery to the asker. */
export const phaseTokens = z.strictObject({
  request: z.int().optional(),
  routing: z.int().optional(),
  response: z.int().optional(),
  delivery: z.int().optional(),
})

/** A specialist and the session in which it answers. */
export const specialistSession = z.strictObject({ agent: z.string(), session_id: z.string() })

const item = z.strictObject({ source: z.string(), origin: z.string(), reason: z.string(), tokens: z.int() })

/** Events of a consultation. Each carries its `collaboration_id`. */
export const consultEvents = {
  /** The whole request; the consultation is `pending`. */
  'consult:request': consultationRequest,
  /** The orchestrator chose a specialist (`routed`); `session_id` is the session that the specialist gets. */
  'consult:routed': z.strictObject({
    ...collaboration,
    agent: z.string(),
    /** All of them, if more than one was chosen. */
    agents: z.array(z.string()).optional(),
    /** Their sessions. */
    sessions: z.array(specialistSession).optional(),
    consultation_reason: z.string(),
    rationale: z.string(),
    confidence: z.number().optional(),
    /** `local` stands in older journals only: a match of keywords. */
    method: z.enum(['model', 'local', 'fallback']),
    hint: z.enum(['none', 'followed', 'not_followed']),
    session_id: z.string(),
    tokens: z.int(),
    cost_usd: z.number().nullable(),
  }),
  'consult:package': z.strictObject({
    ...collaboration,
    agent: z.string(),
    items: z.array(item.extend({ score: z.number() })),
    left_out: z.array(item),
    tokens: z.int(),
    /** How the items were compared with the question: `lexical` without an embedder, or when it failed. */
    method: z.enum(['lexical', 'lexical and embedding']).optional(),
    /** Kinds of secrets and personal data that were removed. */
    redacted: z.array(z.strictObject({ kind: z.string(), count: z.int() })),
  }),
  /** One message between the asker and the specialist, through the orchestrator; a question makes it `in_progress`. */
  'consult:exchange': z.strictObject({
    ...collaboration,
    exchange_number: z.int().min(1),
    from_agent: z.string(),
    to_agent: z.string(),
    message_type: z.enum(['question', 'response', 'clarification']),
    message_content: z.record(z.string(), z.unknown()),
    context_provided: z.record(z.string(), z.unknown()).optional(),
    tokens: phaseTokens,
    cost_usd: z.number().nullable(),
  }),
  /** `resume` goes on with a question to this specialist that had failed (`in_progress`). */
  'consult:retried': z.strictObject({ ...collaboration, agent: z.string(), exchange_number: z.int().min(1) }),
  /** The answer (`responded`). */
  'consult:response': z.strictObject({ ...collaboration, ...consultationAnswer.shape }),
  /** The answer was delivered to the asker (`resolved`). */
  'consult:resolved': z.strictObject({
    ...collaboration,
    outcome_type: z.enum(['successful', 'escalated', 'loop_detected']),
    resolution_summary: z.string(),
    /** It was resolved before: this outcome replaces the earlier one, whose rating stays. */
    again: z.literal(true).optional(),
  }),
  'consult:rated': z.strictObject({
    ...collaboration,
    success_rating: z.int().min(1).max(5),
    lessons_learned: z.string().optional(),
    rated_by: z.string(),
  }),
  /** A person is asked (`escalated`). */
  'consult:escalated': z.strictObject({
    ...collaboration,
    reason: z.enum(['no_specialist', 'specialists_failed', 'low_confidence', 'always', 'loop', 'exchanges', 'cycle']),
    root_cause: z.string(),
  }),
  'consult:failed': z.strictObject({
    ...collaboration,
    agent: z.string().optional(),
    error: z.custom<ErrorRecord>((value) => typeof value === 'object' && value !== null && 'code' in value),
  }),
  /** The deadline passed; `partial` is what the specialist had written. */
  'consult:timeout': z.strictObject({
    ...collaboration,
    agent: z.string(),
    deadline_ms: z.int(),
    partial: z.string(),
  }),
  'consult:loop': z.strictObject({
    ...collaboration,
    loop_type: z.string(),
    evidence: z.unknown(),
    resolution: z.enum(['escalated', 'resolved', 'continued']),
    notes: z.string().optional(),
  }),
}

export type ConsultContext = Context<EmittedData<typeof consultEvents>>
export type ConsultEvent = DeclaredEvent<typeof consultEvents>
/** One event of a consultation, by type. */
export type ConsultEventOf<T extends ConsultEvent['type']> = Extract<ConsultEvent, { type: T }>
