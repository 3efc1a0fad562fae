import * as z from '../../../schema/zod.ts'

/** The settings under `consult.knowledge`. */
export const learningSettings = z.strictObject({
  answer: z
    .enum(['never', 'when_confident'])
    .default('never')
    .describe(
      'Whether a repeated question is answered with a stored answer: never, or if it is the same question, in the same context, and the answer was rated well. Default: never.',
    ),
  max_age_days: z.number().gt(0).default(30).describe('An older answer is not given again. Default: 30.'),
  min_rating: z
    .int()
    .min(3)
    .max(5)
    .default(4)
    .describe('The rating, 1 to 5, from which an answer is given again. Default: 4.'),
})
export type LearningSettings = z.output<typeof learningSettings>
