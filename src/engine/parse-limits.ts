import { TroupeError } from '../errors.ts'
import type { Limits } from '../kernel/limits.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import { formatIssues } from '../schema/schema.ts'
import * as z from '../schema/zod.ts'

/** Applies changes to limits and validates the result. `max_recursion_depth` is an alias of `depth`. */
export function parseLimits(base: Limits, changes: Partial<Limits> & { max_recursion_depth?: number } = {}): Limits {
  const { max_recursion_depth, ...limits } = changes
  const depth = max_recursion_depth === undefined ? undefined : { depth: max_recursion_depth }
  const parsed = limitsSchema.safeParse({ ...base, ...depth, ...limits })
  if (parsed.success) return parsed.data
  const known = Object.keys(DEFAULT_LIMITS)
  throw new TroupeError('invalid_input', `invalid \`limits\`: ${formatIssues(parsed.error)}`, {
    alternatives: known,
    hint: `the limits are ${known.join(', ')}`,
  })
}

const limitsSchema: z.ZodType<Limits> = z.strictObject({
  calls: z.int().positive().nullable().describe('model requests'),
  tokens: z.int().positive().nullable().describe('input and output tokens together'),
  usd: z.number().positive().nullable().describe('cost in US dollars, where prices are known'),
  wall_ms: z.int().positive().nullable().describe('working time in milliseconds; time at gates does not count'),
  depth: z.int().min(0).describe('levels of delegation below the first agent (max_recursion_depth)'),
  self_depth: z.int().min(0).describe('levels of an agent delegating to itself'),
  breadth: z.int().positive().describe('sub-sessions per session'),
  concurrency: z.int().positive().describe('model requests in flight at once'),
  turns: z.int().positive().describe('model requests per instruction'),
  output: z.int().positive().describe('maximum tokens of one model response'),
})
