import * as z from '../../schema/zod.ts'

export const urgencies = ['low', 'normal', 'high', 'critical'] as const
export type Urgency = (typeof urgencies)[number]

/** A specialist is chosen, at work, or has answered. */
const openStatuses = ['pending', 'routed', 'in_progress', 'responded'] as const

/** The specialist's part is over: it answered, or a person was asked, it failed, or it missed the deadline. */
export const settledStatuses = ['resolved', 'escalated', 'failed', 'timeout'] as const

export const consultationStatuses = [...openStatuses, ...settledStatuses] as const
export type ConsultationStatus = (typeof consultationStatuses)[number]

/** Before the end; an escalated one waits for a person. */
export const unfinishedStatuses: readonly ConsultationStatus[] = [...openStatuses, 'escalated']

export const codeSnippet = z.strictObject({ path: z.string().optional(), text: z.string() })

/** The context that the asking agent gives with its question. */
export const requestContext = z.strictObject({
  current_task: z.string().optional().describe('What you are doing.'),
  specific_concern: z.string().optional().describe('What exactly is unclear.'),
  attempted_approaches: z.array(z.string()).optional().describe('What you tried, with the outcome.'),
  relevant_files: z.array(z.string()).optional().describe('Paths.'),
  code_snippets: z.array(codeSnippet).optional(),
  error_messages: z.array(z.string()).optional(),
})

/** A request for a specialist's help, as the orchestrator records and routes it. */
export const consultationRequest = z.strictObject({
  collaboration_id: z.string(),
  request_type: z.literal('agent_consultation'),
  requesting_agent: z.string(),
  question: z.string(),
  consultation_reason: z.string().optional(),
  context: requestContext,
  suggested_agent: z.string().optional(),
  urgency: z.enum(urgencies),
})

export type ConsultationRequest = z.output<typeof consultationRequest>

const MINUTE = 60_000

/** Milliseconds from the request until a consultation of this urgency ends as `timeout`. */
export function deadlineFor(urgency: Urgency, config: { deadlines: Readonly<Record<Urgency, number>> }): number {
  return config.deadlines[urgency]
}

/** Prevents starvation: waiting this long is worth one level of urgency, without bound. */
const AGING_MS = 5 * MINUTE

/** The place in the queue as one number, the lowest next: each level of urgency is worth `AGING_MS` of waiting. */
export function queueRank(urgency: Urgency, at: number): number {
  return at - urgencies.indexOf(urgency) * AGING_MS
}
