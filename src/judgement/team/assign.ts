import { TroupeError, unknownName } from '../../errors.ts'
import type { Value } from '../condition/tree.ts'
import { usedVariables } from './check.ts'
import type { Team, ValueType } from './definition.ts'
import { rulesOf } from './rules.ts'
import { systemTypes, variableTypes } from './variables.ts'

/** `name=value` pairs as variables of a team, each of the type that the team gives it. */
export function assigned(team: Team, pairs: readonly string[]): Record<string, Value> {
  const types = new Map([...variableTypes(team), ...systemTypes(team)])
  const known = [...new Set([...types.keys(), ...rulesOf(team).rules.flatMap(usedVariables)])]
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      const name = pair.slice(0, at).trim()
      if (at < 1 || name === '') throw noPair(pair)
      if (!known.includes(name)) throw unknownName('invalid_input', 'variable', name, known)
      return [name, typed(name, pair.slice(at + 1), types.get(name))]
    }),
  )
}

function typed(name: string, text: string, type: ValueType | undefined): Value {
  const value = type === 'string' ? unquoted(text) : guessed(text)
  if (type === undefined || typeof value === type) return value
  throw new TroupeError('invalid_input', `'${name}' is a ${type}, and '${text}' is not`, {
    hint: type === 'number' ? `such as ${name}=5` : `${name}=true or ${name}=false`,
    alternatives: type === 'boolean' ? ['true', 'false'] : [],
  })
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

function guessed(text: string): Value {
  const plain = text.trim()
  if (plain === 'true' || plain === 'false') return plain === 'true'
  return NUMBER.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : unquoted(text)
}

/** `"5"` is a text, where 5 alone would be a number. */
function unquoted(text: string): string {
  return /^(["'])([\s\S]*)\1$/.exec(text.trim())?.[2] ?? text
}

function noPair(pair: string): TroupeError {
  return new TroupeError('invalid_input', `--set ${pair}: a variable and its value are needed`, {
    hint: 'such as --set word_count=1200',
  })
}
