import { TroupeError } from '../../errors.ts'
import { formatIssues } from '../../schema/schema.ts'
import * as z from '../../schema/zod.ts'
import { escalations } from './contracts.ts'

/** A command, or a command that may fail without stopping the build. */
const customCheck = z.union([
  z.string(),
  z.strictObject({ command: z.string().min(1), required: z.boolean().optional() }),
])

/** Commands that verify the work, instead of those found in the project. An empty command switches a check off. */
const buildChecks = z.strictObject({
  test: z.string().optional(),
  type_check: z.string().optional(),
  lint: z.string().optional(),
  custom: z.record(z.string().regex(/^[\w.-]{1,64}$/), customCheck).optional(),
})
export type BuildChecks = z.output<typeof buildChecks>

const configSchema = z.strictObject({
  checks: buildChecks,
  /** Rounds of work and review, the first one included. */
  max_iterations: z.int().min(1).max(20),
  escalation_on_max: z.enum(escalations),
  /** Developers at work at the same time. */
  max_parallel: z.int().min(1).max(32),
  max_tasks: z.int().min(1).max(50),
  /** Attempts at one task in one round. */
  max_attempts: z.int().min(1).max(10),
  developer_timeout_ms: z.int().min(1),
  reviewer_timeout_ms: z.int().min(1),
  check_timeout_ms: z.int().min(1),
  /** Names of the agents. */
  architect: z.string().min(1),
  developer: z.string().min(1),
  reviewer: z.string().min(1),
})
/** Settings of all builds (`createTroupe({ build })`). */
export type BuildConfig = z.output<typeof configSchema>

/** The settings that a program or a configuration file gives; the others have defaults. */
export type BuildSettings = Partial<BuildConfig>

export const buildSettings = configSchema.partial()

export const DEFAULT_BUILD_CONFIG: BuildConfig = Object.freeze({
  checks: Object.freeze({}),
  max_iterations: 3,
  escalation_on_max: 'human_review',
  max_parallel: 4,
  max_tasks: 12,
  max_attempts: 3,
  developer_timeout_ms: 600_000,
  reviewer_timeout_ms: 300_000,
  check_timeout_ms: 300_000,
  architect: 'architect',
  developer: 'developer',
  reviewer: 'reviewer',
})

/** Validates `createTroupe({ build })` and fills in the defaults. */
export function parseBuildConfig(settings: unknown): BuildConfig {
  const parsed = configSchema.safeParse({ ...DEFAULT_BUILD_CONFIG, ...(settings as BuildSettings) })
  if (parsed.success) return parsed.data
  const known = Object.keys(configSchema.shape)
  throw new TroupeError('invalid_input', `option \`build\` is invalid: ${formatIssues(parsed.error)}`, {
    alternatives: known,
    hint: `the settings are: ${known.join(', ')}`,
  })
}
