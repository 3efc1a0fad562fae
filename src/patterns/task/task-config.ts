import { TroupeError } from '../../errors.ts'
import type { Limits } from '../../kernel/limits.ts'
import { formatIssues } from '../../schema/schema.ts'
import * as z from '../../schema/zod.ts'

/** Settings of delegation (`createTroupe({ task })`). */
export interface TaskConfig {
  /** Levels of delegation below the first agent; the same as `limits.depth`, which wins if both are set. */
  max_recursion_depth: number
}

export const taskConfigSchema = z.strictObject({
  max_recursion_depth: z.int().min(0).describe('Levels of delegation below the first agent. Default: 1.').optional(),
})

/** Validates `createTroupe({ task })` and returns the limits of runs that it sets. */
export function limitsFromTaskConfig(config: unknown): Partial<Limits> {
  const parsed = taskConfigSchema.safeParse(config)
  if (parsed.success) {
    const { max_recursion_depth: depth } = parsed.data
    return depth === undefined ? {} : { depth }
  }
  const known = Object.keys(taskConfigSchema.shape)
  throw new TroupeError('invalid_input', `option \`task\` is invalid: ${formatIssues(parsed.error)}`, {
    alternatives: known,
    hint: `the settings are: ${known.join(', ')}`,
  })
}
