import { TroupeError, unknownNameError } from '../errors.ts'
import type { Limits } from './limits.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { limitsSchema } from './limits-schema.ts'
import type { Pattern } from './pattern.ts'
import { formatIssues } from './schema.ts'

/** Finds a pattern by its name. Throws `unknown_pattern` with the known names. */
export function requirePattern(patterns: ReadonlyMap<string, Pattern>, name: string): Pattern {
  const pattern = patterns.get(name)
  if (pattern) return pattern
  throw unknownNameError('unknown_pattern', { kind: 'pattern', name, known: [...patterns.keys()] })
}

/** Validates the input of a pattern and fills in its defaults. Throws `invalid_input`. */
export function parsePatternInput({ name, input: schema }: Pattern, input: unknown): unknown {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `invalid input for the pattern '${name}': ${formatIssues(parsed.error)}`)
}

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
