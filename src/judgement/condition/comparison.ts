import type { Comparator, ConditionLeaf, Operand, Truth, VariableValue } from './condition-tree.ts'
import type { VariableType } from './system-variables.ts'

export interface LeafResult {
  value: Truth
  reason: string
}

type Variables = Readonly<Record<string, VariableValue>>

const MAX_SHOWN_LENGTH = 60

/** Compares two values of the same type; a missing value or a type mismatch is `unknown`, with the reason. */
export function evaluateComparison(
  leaf: Extract<ConditionLeaf, { kind: 'compare' }>,
  variables: Variables,
): LeafResult {
  const [left, right] = [readOperand(leaf.left, variables), readOperand(leaf.right, variables)]
  if ('missing' in left || 'missing' in right) {
    return unknownResult(...new Set([left, right].flatMap((side) => ('missing' in side ? [side.missing] : []))))
  }
  const sides = [describeOperand(leaf.left, left.value), describeOperand(leaf.right, right.value)].filter(
    (side) => side !== '',
  )
  const value = compareValues(left.value, leaf.op, right.value)
  if (value === undefined) return unknownResult(mismatchReason(left.value, leaf.op, right.value), ...sides)
  return { value, reason: sides.length > 0 ? sides.join(', ') : 'both sides are literals' }
}

/** The value of a boolean variable. */
export function evaluateFact(name: string, variables: Variables): LeafResult {
  const operand: Operand = { variable: name, templated: true }
  const result = readOperand(operand, variables)
  if ('missing' in result) return unknownResult(result.missing)
  const { value } = result
  if (typeof value === 'boolean') return { value, reason: `${name} is ${value}` }
  return unknownResult(`${describeOperand(operand, value)}, ${describeType(value)}, not a boolean`)
}

/** The value of a variable, if a condition can use it. */
export function usableValue(name: string, variables: Variables): VariableValue | undefined {
  const value: unknown = Object.hasOwn(variables, name) ? variables[name] : undefined
  if (typeof value === 'string' || typeof value === 'boolean') return value
  // NaN makes every comparison false without a visible reason.
  return typeof value === 'number' && !Number.isNaN(value) ? value : undefined
}

function readOperand(operand: Operand, variables: Variables): { value: VariableValue } | { missing: string } {
  if ('literal' in operand) return { value: operand.literal }
  const { variable, templated } = operand
  const value = usableValue(variable, variables)
  if (value !== undefined) return { value }
  const isSet = Object.hasOwn(variables, variable) && variables[variable] !== undefined
  if (isSet) return { missing: `${variable} is not a number, text or boolean` }
  return { missing: `${variable} is not set${templated ? '' : ` (put text in quotes: "${variable}")`}` }
}

function compareValues(left: VariableValue, op: Comparator, right: VariableValue): boolean | undefined {
  if (typeof left !== typeof right) return undefined
  if (op === '==') return left === right
  if (op === '!=') return left !== right
  if (typeof left !== 'number' || typeof right !== 'number') return undefined
  if (op === '<') return left < right
  if (op === '<=') return left <= right
  return op === '>' ? left > right : left >= right
}

function mismatchReason(left: VariableValue, op: Comparator, right: VariableValue): string {
  if (typeof left === typeof right) return `'${op}' compares numbers only, not ${TYPES[valueType(left)].plural}`
  return `${describeType(left)} cannot be compared with ${describeType(right)}`
}

const TYPES = {
  number: { singular: 'a number', plural: 'numbers' },
  string: { singular: 'a text', plural: 'texts' },
  boolean: { singular: 'a boolean', plural: 'booleans' },
} as const

function valueType(value: VariableValue): VariableType {
  return typeof value as VariableType
}

function describeType(value: VariableValue): string {
  return TYPES[valueType(value)].singular
}

function describeOperand(operand: Operand, value: VariableValue): string {
  return 'literal' in operand ? '' : `${operand.variable} is ${formatValue(value)}`
}

function formatValue(value: VariableValue): string {
  if (typeof value !== 'string') return String(value)
  const letters = [...value.slice(0, 2 * MAX_SHOWN_LENGTH)]
  return quoteValue(letters.length > MAX_SHOWN_LENGTH ? `${letters.slice(0, MAX_SHOWN_LENGTH).join('')}…` : value)
}

/** Quotes a value as data in a sentence: one line, quotes escaped. Guards against prompt injection by variables. */
export function quoteValue(text: string): string {
  return `"${text
    .replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .replaceAll(/["\\]/g, '\\$&')}"`
}

function unknownResult(...reasons: string[]): LeafResult {
  return { value: 'unknown', reason: reasons.filter((reason) => reason !== '').join('; ') }
}
