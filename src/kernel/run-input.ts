import { TroupeError, unknownNameError } from '../errors.ts'
import { validateValue } from '../schema/schema.ts'
import type { Pattern } from './pattern.ts'

/** Finds a pattern by its name. Throws `unknown_pattern` with the known names. */
export function requirePattern(patterns: ReadonlyMap<string, Pattern>, name: string): Pattern {
  const pattern = patterns.get(name)
  if (pattern) return pattern
  throw unknownNameError('unknown_pattern', { kind: 'pattern', name, known: [...patterns.keys()] })
}

/** Validates the input of a pattern and fills in its defaults. Throws `invalid_input`. */
export function parsePatternInput({ name, input: schema }: Pattern, input: unknown): unknown {
  const parsed = validateValue(schema, input)
  if (parsed.ok) return parsed.value
  throw new TroupeError('invalid_input', `invalid input for the pattern '${name}': ${parsed.problem}`, {
    hint: `list the fields with: troupe run ${name} --help`,
  })
}
