import { TroupeError } from '../../errors.ts'
import type { Limits } from '../../kernel/limits.ts'
import type { DelegationRules } from '../../kernel/pattern.ts'
import { formatIssues } from '../../schema/schema.ts'
import * as z from '../../schema/zod.ts'

/** Settings of delegation (`createTroupe({ task })`). */
export interface TaskConfig {
  /** Levels of delegation below the first agent; the same as `limits.depth`, which wins if both are set. */
  max_recursion_depth: number
  /** Lets an agent delegate to an agent that is already active above it; the depth limit still ends the chain. Default: false. */
  allow_cycles: boolean
}

export const taskConfigSchema = z.strictObject({
  max_recursion_depth: z.int().min(0).describe('Levels of delegation below the first agent. Default: 1.').optional(),
  allow_cycles: z
    .boolean()
    .describe('Agents may delegate to agents that are already active above them. Default: false.')
    .optional(),
})

/** Validates `createTroupe({ task })` and returns the limits of runs and the rules of delegation that it sets. */
export function parseTaskConfig(config: unknown): { limits: Partial<Limits>; delegation: DelegationRules } {
  const parsed = taskConfigSchema.safeParse(config)
  if (parsed.success) {
    const { max_recursion_depth: depth, allow_cycles } = parsed.data
    const limits = depth === undefined ? {} : { depth }
    return { limits, delegation: { self: 'count', cycles: allow_cycles ? 'allow' : 'refuse' } }
  }
  const known = Object.keys(taskConfigSchema.shape)
  throw new TroupeError('invalid_input', `option \`task\` is invalid: ${formatIssues(parsed.error)}`, {
    alternatives: known,
    hint: `the settings are: ${known.join(', ')}`,
  })
}
