import type { ErrorRecord } from '../../errors.ts'
import type { Context } from '../../kernel/context.ts'
import type { DeclaredEvent, EmittedData } from '../../kernel/pattern.ts'
import * as z from '../../schema/zod.ts'

const agent = { agent: z.string(), role: z.string() }

/** Events of a collaboration, with the names of the specification. */
export const collaborateEvents = {
  'tool:collaborative:start': z.strictObject({
    task: z.string(),
    agents: z.array(z.string()),
    mode: z.string(),
    synthesis: z.string(),
  }),
  'tool:collaborative:agent:start': z.strictObject({ ...agent, subtask: z.string().optional() }),
  'tool:collaborative:agent:complete': z.strictObject({
    ...agent,
    tokens: z.number(),
    recommendation: z.string().optional(),
    confidence: z.number().optional(),
  }),
  'tool:collaborative:agent:error': z.strictObject({
    ...agent,
    tokens: z.number(),
    error: z.custom<ErrorRecord>((value) => typeof value === 'object' && value !== null && 'code' in value),
  }),
  'tool:collaborative:synthesis:start': z.strictObject({ strategy: z.string() }),
  'tool:collaborative:synthesis:complete': z.strictObject({ strategy: z.string(), tokens: z.number() }),
  'tool:collaborative:complete': z.strictObject({
    agents_count: z.number(),
    total_tokens: z.number(),
    status: z.string(),
    agreement_score: z.number().nullable(),
    /** The agents that hold the winning position; absent if none won. */
    winning: z.array(z.string()).optional(),
  }),
}

export type CollaborateContext = Context<EmittedData<typeof collaborateEvents>>
export type CollaborateEvent = DeclaredEvent<typeof collaborateEvents>
/** One event of a collaboration, by type. */
export type CollaborateEventOf<T extends CollaborateEvent['type']> = Extract<CollaborateEvent, { type: T }>
