import { TroupeError, unknownNameError } from '../../errors.ts'
import type { VariableValue } from '../condition/condition-tree.ts'
import type { VariableType } from '../condition/system-variables.ts'
import { settableVariables } from './settable-variables.ts'
import type { Team } from './team-schema.ts'
import { systemVariableTypes } from './team-variables.ts'

/**
 * Parses `name=value` pairs by the types of the team's variables. System variables can be assumed in an explanation but
 * not set in a run: `listSystemVariables: false` leaves them out of the known names in an error.
 */
export function parseAssignments(
  team: Team,
  pairs: readonly string[],
  listSystemVariables = true,
): Record<string, VariableValue> {
  const settable = settableVariables(team)
  const types = new Map([...settable, ...systemVariableTypes(team)])
  const known = [...(listSystemVariables ? types : settable).keys()]
  return Object.fromEntries(
    pairs.map((pair) => {
      const separator = pair.indexOf('=')
      const name = pair.slice(0, separator).trim()
      if (separator < 1 || name === '') throw invalidAssignment(pair)
      if (!types.has(name)) throw unknownNameError('invalid_input', { kind: 'variable', name, known })
      return [name, parseTypedValue(name, pair.slice(separator + 1), types.get(name))]
    }),
  )
}

function parseTypedValue(name: string, text: string, type: VariableType | undefined): VariableValue {
  const value = type === 'string' ? stripQuotes(text) : inferValue(text)
  if (type === undefined || typeof value === type) return value
  throw new TroupeError('invalid_input', `the variable '${name}' must be a ${type}, not '${text}'`, {
    hint: type === 'number' ? `for example ${name}=5` : `write ${name}=true or ${name}=false`,
    alternatives: type === 'boolean' ? ['true', 'false'] : [],
  })
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

function inferValue(text: string): VariableValue {
  const plain = text.trim()
  if (plain === 'true' || plain === 'false') return plain === 'true'
  return NUMBER.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : stripQuotes(text)
}

/** `"5"` is text, while 5 is a number. */
function stripQuotes(text: string): string {
  return /^(["'])([\s\S]*)\1$/.exec(text.trim())?.[2] ?? text
}

function invalidAssignment(pair: string): TroupeError {
  return new TroupeError('invalid_input', `--set ${pair} must be NAME=VALUE`, {
    hint: 'for example --set word_count=1200',
  })
}
