import { TroupeError } from '../../errors.ts'
import { formatIssues } from '../../schema/schema.ts'
import * as z from '../../schema/zod.ts'
import { DEFAULT_BUDGET_TOKENS, MIN_BUDGET_TOKENS } from './context-package/package-settings.ts'
import { scenariosSettings } from './routing/scenario-settings.ts'
import type { Scenario } from './routing/scenarios.ts'
import { resolveScenarios } from './routing/scenarios.ts'

const MINUTE = 60_000

const limits = z.strictObject({
  max_exchanges_per_collaboration: z.int().min(1).default(5).describe('Questions to one specialist. Default: 5.'),
  max_identical_questions: z.int().min(1).default(2).describe('Times that a question may be repeated. Default: 2.'),
  max_active_collaborations_per_agent: z
    .int()
    .min(1)
    .default(3)
    .describe('Consultations of one asker at work at once; more wait, ordered by urgency. Default: 3.'),
  max_active_collaborations_per_specialist: z
    .int()
    .min(1)
    .max(1000)
    .default(10)
    .describe(
      'Consultations that one specialist works on at once; more go to the other one of the scenario. Default: 10.',
    ),
  escalation_after_loops: z.int().min(1).default(1).describe('Confirmed loops before a person is asked. Default: 1.'),
  window_hours: z.number().gt(0).default(1).describe('The hours that the loop detector looks back. Default: 1.'),
  window_collaborations: z.int().min(1).default(10).describe('The consultations that it looks back. Default: 10.'),
})

const deadline = (ms: number) => z.int().min(1).default(ms)

const deadlines = z
  .strictObject({
    low: deadline(30 * MINUTE),
    normal: deadline(10 * MINUTE),
    high: deadline(5 * MINUTE),
    critical: deadline(2 * MINUTE),
  })
  .describe('Milliseconds of work that a specialist has, by urgency.')

/** The settings that `createTroupe` and configuration files take under `consult`. */
export const consultSettings = z.strictObject({
  limits: limits.prefault({}),
  autonomy: z
    .enum(['low', 'medium', 'high'])
    .default('high')
    .describe('When a person is asked: always, below a confidence of 0.7, or below 0.3. Default: high.'),
  deadlines: deadlines.prefault({}),
  orchestrator: z
    .strictObject({ model: z.string().min(1).default('fast'), temperature: z.number().min(0).max(2).default(0) })
    .describe('The model of the orchestrator. Default: the role fast, or the model of the run.')
    .prefault({}),
  context: z
    .strictObject({
      budget_tokens: z
        .int()
        .min(MIN_BUDGET_TOKENS)
        .default(DEFAULT_BUDGET_TOKENS)
        .describe(`Tokens of the context that a specialist gets. Default: ${DEFAULT_BUDGET_TOKENS}.`),
    })
    .prefault({}),
  scenarios: scenariosSettings.default({}),
})

/** The settings with the built-in scenarios. */
export type ConsultConfig = Omit<z.output<typeof consultSettings>, 'scenarios'> & { scenarios: readonly Scenario[] }
export type ConsultSettings = z.input<typeof consultSettings>

export const DEFAULT_CONSULT_CONFIG: ConsultConfig = parseConsultConfig({})

/** Validates `createTroupe({ consult })` and fills in the defaults. */
export function parseConsultConfig(config: unknown): ConsultConfig {
  const parsed = consultSettings.safeParse(config)
  if (parsed.success) return { ...parsed.data, scenarios: resolveScenarios(parsed.data.scenarios) }
  const known = Object.keys(consultSettings.shape)
  throw new TroupeError('invalid_input', `option \`consult\` is invalid: ${formatIssues(parsed.error, 'consult')}`, {
    alternatives: known,
    hint: `the settings are: ${known.join(', ')}`,
  })
}
