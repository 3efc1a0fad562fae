import type { Comparator, ConditionLeaf, Operand, Truth, VariableValue } from './condition-tree.ts'

export interface LeafResult {
  value: Truth
  reason: string
}

type Variables = Readonly<Record<string, VariableValue>>

const MAX_SHOWN_LENGTH = 60

/** A comparison of two values of one kind; anything else is unknown, and says why. */
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
  return { value, reason: sides.length > 0 ? sides.join(', ') : 'both sides are written out' }
}

/** A variable that is true or false by itself. */
export function evaluateFact(name: string, variables: Variables): LeafResult {
  const found = readOperand({ variable: name, templated: true }, variables)
  if ('missing' in found) return unknownResult(found.missing)
  if (typeof found.value === 'boolean') return { value: found.value, reason: `${name} is ${found.value}` }
  return unknownResult(
    `${describeOperand({ variable: name, templated: true }, found.value)}, ${describeKind(found.value)}, not true or false`,
  )
}

/** The value of a variable, if there is one that a condition can use. */
export function usableValue(name: string, variables: Variables): VariableValue | undefined {
  const value: unknown = Object.hasOwn(variables, name) ? variables[name] : undefined
  if (typeof value === 'string' || typeof value === 'boolean') return value
  // NaN compares with nothing: every rule over it would be false, and nobody would see why.
  return typeof value === 'number' && !Number.isNaN(value) ? value : undefined
}

function readOperand(operand: Operand, variables: Variables): { value: VariableValue } | { missing: string } {
  if ('literal' in operand) return { value: operand.literal }
  const { variable, templated } = operand
  const value = usableValue(variable, variables)
  if (value !== undefined) return { value }
  const present = Object.hasOwn(variables, variable) && variables[variable] !== undefined
  if (present) return { missing: `${variable} is no number, no text and not true or false` }
  return { missing: `${variable} is not set${templated ? '' : ` (a text would stand in quotes: "${variable}")`}` }
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
  if (typeof left === typeof right) return `'${op}' orders numbers only, and these are ${KINDS[valueKind(left)].many}`
  return `${describeKind(left)} cannot be compared with ${describeKind(right)}`
}

const KINDS = {
  number: { one: 'a number', many: 'numbers' },
  string: { one: 'a text', many: 'texts' },
  boolean: { one: 'true or false', many: 'true or false' },
} as const

function valueKind(value: VariableValue): keyof typeof KINDS {
  return typeof value as keyof typeof KINDS
}

function describeKind(value: VariableValue): string {
  return KINDS[valueKind(value)].one
}

function describeOperand(operand: Operand, value: VariableValue): string {
  return 'literal' in operand ? '' : `${operand.variable} is ${formatValue(value)}`
}

function formatValue(value: VariableValue): string {
  if (typeof value !== 'string') return String(value)
  const letters = [...value.slice(0, 2 * MAX_SHOWN_LENGTH)]
  return quoteValue(letters.length > MAX_SHOWN_LENGTH ? `${letters.slice(0, MAX_SHOWN_LENGTH).join('')}…` : value)
}

/** A text as data within a sentence: one line, its own quotes marked. */
export function quoteValue(text: string): string {
  return `"${text
    .replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .replaceAll(/["\\]/g, '\\$&')}"`
}

function unknownResult(...reasons: string[]): LeafResult {
  return { value: 'unknown', reason: reasons.filter((reason) => reason !== '').join('; ') }
}
