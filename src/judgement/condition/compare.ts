import type { Comparator, Leaf, Operand, Truth, Value } from './tree.ts'

export interface Settled {
  value: Truth
  reason: string
}

type Variables = Readonly<Record<string, Value>>

const LONGEST_SHOWN = 60

/** A comparison of two values of one kind; anything else is unknown, and says why. */
export function compare(leaf: Extract<Leaf, { kind: 'compare' }>, variables: Variables): Settled {
  const [left, right] = [read(leaf.left, variables), read(leaf.right, variables)]
  if ('missing' in left || 'missing' in right) {
    return unknown(...new Set([left, right].flatMap((side) => ('missing' in side ? [side.missing] : []))))
  }
  const sides = [said(leaf.left, left.value), said(leaf.right, right.value)].filter((side) => side !== '')
  const value = compared(left.value, leaf.op, right.value)
  if (value === undefined) return unknown(mismatch(left.value, leaf.op, right.value), ...sides)
  return { value, reason: sides.length > 0 ? sides.join(', ') : 'both sides are written out' }
}

/** A variable that is true or false by itself. */
export function fact(name: string, variables: Variables): Settled {
  const found = read({ variable: name, templated: true }, variables)
  if ('missing' in found) return unknown(found.missing)
  if (typeof found.value === 'boolean') return { value: found.value, reason: `${name} is ${found.value}` }
  return unknown(`${said({ variable: name, templated: true }, found.value)}, ${kindOf(found.value)}, not true or false`)
}

/** The value of a variable, if there is one that a condition can use. */
export function usable(name: string, variables: Variables): Value | undefined {
  const value: unknown = Object.hasOwn(variables, name) ? variables[name] : undefined
  if (typeof value === 'string' || typeof value === 'boolean') return value
  // NaN compares with nothing: every rule over it would be false, and nobody would see why.
  return typeof value === 'number' && !Number.isNaN(value) ? value : undefined
}

function read(operand: Operand, variables: Variables): { value: Value } | { missing: string } {
  if ('literal' in operand) return { value: operand.literal }
  const { variable, templated } = operand
  const value = usable(variable, variables)
  if (value !== undefined) return { value }
  const present = Object.hasOwn(variables, variable) && variables[variable] !== undefined
  if (present) return { missing: `${variable} is no number, no text and not true or false` }
  return { missing: `${variable} is not set${templated ? '' : ` (a text would stand in quotes: "${variable}")`}` }
}

function compared(left: Value, op: Comparator, right: Value): boolean | undefined {
  if (typeof left !== typeof right) return undefined
  if (op === '==') return left === right
  if (op === '!=') return left !== right
  if (typeof left !== 'number' || typeof right !== 'number') return undefined
  if (op === '<') return left < right
  if (op === '<=') return left <= right
  return op === '>' ? left > right : left >= right
}

function mismatch(left: Value, op: Comparator, right: Value): string {
  if (typeof left === typeof right) return `'${op}' orders numbers only, and these are ${KINDS[kind(left)].many}`
  return `${kindOf(left)} cannot be compared with ${kindOf(right)}`
}

const KINDS = {
  number: { one: 'a number', many: 'numbers' },
  string: { one: 'a text', many: 'texts' },
  boolean: { one: 'true or false', many: 'true or false' },
} as const

function kind(value: Value): keyof typeof KINDS {
  return typeof value as keyof typeof KINDS
}

function kindOf(value: Value): string {
  return KINDS[kind(value)].one
}

function said(operand: Operand, value: Value): string {
  return 'literal' in operand ? '' : `${operand.variable} is ${shown(value)}`
}

function shown(value: Value): string {
  if (typeof value !== 'string') return String(value)
  const letters = [...value.slice(0, 2 * LONGEST_SHOWN)]
  return quoted(letters.length > LONGEST_SHOWN ? `${letters.slice(0, LONGEST_SHOWN).join('')}…` : value)
}

/** A text as data within a sentence: one line, its own quotes marked. */
export function quoted(text: string): string {
  return `"${text
    .replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .replaceAll(/["\\]/g, '\\$&')}"`
}

function unknown(...reasons: string[]): Settled {
  return { value: 'unknown', reason: reasons.filter((reason) => reason !== '').join('; ') }
}
