import * as z from '../../../schema/zod.ts'

export const outcomeInput = z.strictObject({
  of_run: z.string().min(1).describe('The run_id of the collaboration.'),
  verdict: z.enum(['right', 'wrong']).optional().describe('Whether its answer was right.'),
  answer: z.string().trim().min(1).optional().describe('The right position, in the words of one of its agents.'),
})

export type OutcomeInput = z.output<typeof outcomeInput>

export const outcomeOutput = z.object({
  of_run: z.string(),
  correct: z.boolean(),
  agreement_score: z.number().nullable(),
  voices: z.array(z.object({ agent: z.string(), role: z.string(), right: z.boolean() })),
})
