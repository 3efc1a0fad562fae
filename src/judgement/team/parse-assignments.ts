import { TroupeError, unknownNameError } from '../../errors.ts'
import type { VariableValue } from '../condition/condition-tree.ts'
import type { VariableType } from '../condition/system-variables.ts'
import { settableVariables } from './settable-variables.ts'
import type { Team } from './team-schema.ts'
import { systemVariableTypes } from './team-variables.ts'

/**
 * `name=value` pairs as variables of a team, each of the type that the team gives it. What only the runtime sets can be
 * supposed; where it cannot be set it is not named among the known ones.
 */
export function parseAssignments(team: Team, pairs: readonly string[], supposed = true): Record<string, VariableValue> {
  const settable = settableVariables(team)
  const types = new Map([...settable, ...systemVariableTypes(team)])
  const known = [...(supposed ? types : settable).keys()]
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      const name = pair.slice(0, at).trim()
      if (at < 1 || name === '') throw invalidAssignment(pair)
      if (!types.has(name)) throw unknownNameError('invalid_input', { kind: 'variable', name, known })
      return [name, parseTypedValue(name, pair.slice(at + 1), types.get(name))]
    }),
  )
}

function parseTypedValue(name: string, text: string, type: VariableType | undefined): VariableValue {
  const value = type === 'string' ? stripQuotes(text) : inferValue(text)
  if (type === undefined || typeof value === type) return value
  throw new TroupeError('invalid_input', `'${name}' is a ${type}, and '${text}' is not`, {
    hint: type === 'number' ? `such as ${name}=5` : `${name}=true or ${name}=false`,
    alternatives: type === 'boolean' ? ['true', 'false'] : [],
  })
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

function inferValue(text: string): VariableValue {
  const plain = text.trim()
  if (plain === 'true' || plain === 'false') return plain === 'true'
  return NUMBER.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : stripQuotes(text)
}

/** `"5"` is a text, where 5 alone would be a number. */
function stripQuotes(text: string): string {
  return /^(["'])([\s\S]*)\1$/.exec(text.trim())?.[2] ?? text
}

function invalidAssignment(pair: string): TroupeError {
  return new TroupeError('invalid_input', `--set ${pair}: a variable and its value are needed`, {
    hint: 'such as --set word_count=1200',
  })
}
