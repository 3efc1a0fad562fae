import * as z from '../../../schema/zod.ts'

/** One entry of `consult.scenarios`: overrides a built-in scenario, or defines a new one. */
export const scenarioSettings = z.strictObject({
  description: z.string().min(1).describe('The questions of this kind, in one line for the orchestrator.').optional(),
  primary: z.string().min(1).describe('The agent that usually answers.').optional(),
  fallback: z.string().min(1).describe('The agent that is asked when `primary` failed or is busy.').optional(),
})
export type ScenarioSettings = z.output<typeof scenarioSettings>

export const scenariosSettings = z
  .record(z.string().regex(/^[a-z][a-z0-9_]*$/), scenarioSettings)
  .describe('Kinds of consultations by name; the six built-in ones can be changed, others added.')
