import type { Comparator, ConditionLeaf, ConditionNode, Operand, VariableValue } from '../condition/condition-tree.ts'
import { conditionLeaves } from '../condition/condition-tree.ts'
import type { VariableType } from '../condition/system-variables.ts'

/*
 * Conditions that can never hold, whatever agents and models say. A condition is taken apart into alternatives; it never
 * holds when each of them contradicts itself. What is not certain counts as possible.
 */

/** What is certain about variables before a team runs. */
export interface StaticFacts {
  types: ReadonlyMap<string, VariableType>
  /** Values that nobody changes. */
  constants: ReadonlyMap<string, VariableValue>
  /** Numbers that are counted, and so never below 0. */
  counts: ReadonlySet<string>
}

export interface Unsatisfiable {
  reason: string
  /** The part that rules it out. */
  leaf: ConditionLeaf
}

type Literal = { leaf: ConditionLeaf; holds: boolean }

/** Beyond it a condition is not taken apart: `and` over many `or`s grows without bounds. */
const MAX_ALTERNATIVES = 64
/** Nor is one that no person wrote: it would take its square in time. */
const MAX_PARTS = 500

export function findUnsatisfiable(tree: ConditionNode, certain: StaticFacts): Unsatisfiable | undefined {
  const alternatives = conditionLeaves(tree).length > MAX_PARTS ? undefined : toDisjunctiveForm(tree, true)
  if (!alternatives) return undefined
  const nevers = alternatives.map((literals) => findConflict(literals, certain))
  const [first] = nevers
  if (!first || nevers.includes(undefined)) return undefined
  return nevers.length === 1 ? first : { ...first, reason: `none of its alternatives can hold: ${first.reason}` }
}

function toDisjunctiveForm(tree: ConditionNode, holds: boolean): Literal[][] | undefined {
  if (tree.kind === 'not') return toDisjunctiveForm(tree.part, !holds)
  if (!('parts' in tree)) return [[{ leaf: tree, holds }]]
  const parts = tree.parts.map((part) => toDisjunctiveForm(part, holds))
  let all: Literal[][] = (tree.kind === 'and') === holds ? [[]] : []
  for (const part of parts) {
    if (!part) return undefined
    all =
      (tree.kind === 'and') === holds
        ? all.flatMap((left) => part.map((right) => [...left, ...right]))
        : [...all, ...part]
    if (all.length > MAX_ALTERNATIVES) return undefined
  }
  return all
}

function findConflict(literals: readonly Literal[], certain: StaticFacts): Unsatisfiable | undefined {
  const ranges = new Map<string, Range>()
  const said = new Map<string, boolean>()
  for (const literal of literals) {
    const { leaf, holds } = literal
    const alone = leafConflict(literal, certain)
    if (alone !== undefined) return { reason: alone, leaf }
    const key = leaf.kind === 'fact' ? leaf.variable : leaf.text.toLowerCase().replaceAll(/\s+/g, ' ')
    if (said.get(key) === !holds) return { reason: `'${leaf.text}' cannot both hold and not hold`, leaf }
    said.set(key, holds)
    const bound = boundFrom(literal, certain)
    if (!bound) continue
    const before = ranges.get(bound.variable) ?? initialRange(certain.counts.has(bound.variable))
    const range = narrowRange(before, bound.op, bound.value)
    if (!range) return { reason: `no value of '${bound.variable}' fits all that is asked of it`, leaf }
    ranges.set(bound.variable, range)
  }
  return undefined
}

function leafConflict({ leaf, holds }: Literal, certain: StaticFacts): string | undefined {
  if (leaf.kind === 'constant') return leaf.value === holds ? undefined : `'${leaf.text}' is always ${leaf.value}`
  if (leaf.kind === 'fact') {
    const type = certain.types.get(leaf.variable)
    if (type !== undefined && type !== 'boolean') return `'${leaf.variable}' is a ${type}, and never true or false`
    const value = certain.constants.get(leaf.variable)
    return value === !holds ? `'${leaf.variable}' is ${value}, and nobody sets it` : undefined
  }
  return leaf.kind === 'compare' ? comparisonConflict(leaf, holds, certain) : undefined
}

function comparisonConflict(
  leaf: ConditionLeaf & { kind: 'compare' },
  holds: boolean,
  certain: StaticFacts,
): string | undefined {
  const [left, right] = [operandType(leaf.left, certain), operandType(leaf.right, certain)]
  if (left !== undefined && right !== undefined && left !== right) {
    return `compares a ${left} with a ${right}, which is never decided`
  }
  if (ORDER_OPERATORS.has(leaf.op) && (left ?? right ?? 'number') !== 'number')
    return `a ${left ?? right} is neither less nor more`
  const [a, b] = [constantValue(leaf.left, certain), constantValue(leaf.right, certain)]
  if (a === undefined || b === undefined || compareConstants(a, leaf.op, b) === holds) return undefined
  const names = [leaf.left, leaf.right].flatMap((side) => ('variable' in side ? [side.variable] : []))
  const set = names.map((name) => `'${name}' is ${certain.constants.get(name)}`).join(' and ')
  return set === '' ? `${leaf.text} is always ${!holds}` : `${set}, and nobody sets ${names.length > 1 ? 'them' : 'it'}`
}

const ORDER_OPERATORS = new Set<Comparator>(['<', '<=', '>', '>='])
const OPPOSITE = { '==': '!=', '!=': '==', '<': '>=', '>=': '<', '>': '<=', '<=': '>' } as const
const MIRROR = { '==': '==', '!=': '!=', '<': '>', '>': '<', '<=': '>=', '>=': '<=' } as const

function operandType(side: Operand, { types }: StaticFacts): VariableType | undefined {
  return 'variable' in side ? types.get(side.variable) : (typeof side.literal as VariableType)
}

function constantValue(side: Operand, { constants }: StaticFacts): VariableValue | undefined {
  return 'variable' in side ? constants.get(side.variable) : side.literal
}

function compareConstants(a: VariableValue, op: Comparator, b: VariableValue): boolean {
  if (op === '==') return a === b
  if (op === '!=') return a !== b
  if (op === '<') return a < b
  if (op === '<=') return a <= b
  return op === '>' ? a > b : a >= b
}

type Bound = { variable: string; op: Comparator; value: VariableValue }

/** What a part demands of a variable that changes. */
function boundFrom({ leaf, holds }: Literal, certain: StaticFacts): Bound | undefined {
  if (leaf.kind === 'fact') return { variable: leaf.variable, op: '==', value: holds }
  if (leaf.kind !== 'compare') return undefined
  const op = holds ? leaf.op : OPPOSITE[leaf.op]
  const [left, right] = [constantValue(leaf.left, certain), constantValue(leaf.right, certain)]
  if ('variable' in leaf.left && left === undefined && right !== undefined) {
    return { variable: leaf.left.variable, op, value: right }
  }
  if ('variable' in leaf.right && right === undefined && left !== undefined) {
    return { variable: leaf.right.variable, op: MIRROR[op], value: left }
  }
  return undefined
}

interface Range {
  low: Edge
  high: Edge
  equal: VariableValue | undefined
  unequal: readonly VariableValue[]
}

function initialRange(counted: boolean): Range {
  const low = { value: counted ? 0 : Number.NEGATIVE_INFINITY, open: false }
  return { low, high: { value: Number.POSITIVE_INFINITY, open: false }, equal: undefined, unequal: [] }
}

/** The values that are left; `undefined` when there are none. */
function narrowRange(range: Range, op: Comparator, value: VariableValue): Range | undefined {
  const next = { ...range }
  if (op === '==') {
    if (range.equal !== undefined && range.equal !== value) return undefined
    next.equal = value
  } else if (op === '!=') next.unequal = [...range.unequal, value]
  else if (typeof value === 'number') {
    const bound = { value, open: op === '<' || op === '>' }
    if (op.startsWith('<')) next.high = tighterBound(range.high, bound, -1)
    else next.low = tighterBound(range.low, bound, 1)
  }
  return isEmpty(next) ? undefined : next
}

type Edge = { value: number; open: boolean }

/** The one of two bounds that leaves less; `side` is 1 for lower bounds, -1 for upper ones. */
function tighterBound(a: Edge, b: Edge, side: 1 | -1): Edge {
  if (a.value === b.value) return { value: a.value, open: a.open || b.open }
  return a.value * side > b.value * side ? a : b
}

function isEmpty({ low, high, equal, unequal }: Range): boolean {
  if (low.value > high.value || (low.value === high.value && (low.open || high.open))) return true
  const only = equal ?? (low.value === high.value ? low.value : undefined)
  if (only === undefined) return unequal.includes(true) && unequal.includes(false)
  if (unequal.includes(only)) return true
  if (typeof only !== 'number') return Number.isFinite(low.value) || Number.isFinite(high.value)
  return only < low.value || only > high.value || (only === low.value && low.open) || (only === high.value && high.open)
}
