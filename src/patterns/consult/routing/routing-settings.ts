import * as z from '../../../schema/zod.ts'

/** One entry of `consult.scenarios`: overrides a built-in scenario, or defines a new one. */
export const scenarioSettings = z.strictObject({
  description: z.string().min(1).describe('The questions of this kind, in one line for the orchestrator.').optional(),
  keywords: z.array(z.string().min(1)).describe('Words and phrases of such questions, for the local match.').optional(),
  primary: z.string().min(1).describe('The agent that usually answers.').optional(),
  fallback: z.string().min(1).describe('The agent that is asked when `primary` failed or is busy.').optional(),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .describe('The score from which the local match decides. Default: the one of `routing.local_match`.')
    .optional(),
})
export type ScenarioSettings = z.output<typeof scenarioSettings>

export const scenariosSettings = z
  .record(z.string().regex(/^[a-z][a-z0-9_]*$/), scenarioSettings)
  .describe('Kinds of consultations by name; the six built-in ones can be changed, others added.')

export const routingSettings = z.strictObject({
  local_match: z
    .union([z.boolean(), z.number().min(0).max(1)])
    .default(false)
    .describe(
      'Routes without a model when keywords and description match from this score; true: 0.65. Default: false.',
    ),
})
export type RoutingSettings = z.output<typeof routingSettings>
