import type { Comparator, ConditionLeaf, ConditionNode, Operand, VariableValue } from '../condition/condition-tree.ts'
import { conditionLeaves } from '../condition/condition-tree.ts'
import type { VariableType } from '../condition/system-variables.ts'

/*
 * Finds conditions that can never be true, whatever the verdicts. A condition is converted to disjunctive normal form;
 * it is unsatisfiable when every alternative contradicts itself. In doubt a condition counts as satisfiable.
 */

/** Known facts about variables before a run. */
export interface StaticFacts {
  types: ReadonlyMap<string, VariableType>
  /** Counters: numbers that are never negative. */
  counts: ReadonlySet<string>
}

export interface Unsatisfiable {
  reason: string
  /** The leaf that causes the contradiction. */
  leaf: ConditionLeaf
}

type Literal = { leaf: ConditionLeaf; holds: boolean }

/** Bounds the exponential growth of the normal form. */
const MAX_ALTERNATIVES = 64
/** Bounds the quadratic comparison of leaves. */
const MAX_PARTS = 500

export function findUnsatisfiable(tree: ConditionNode, facts: StaticFacts): Unsatisfiable | undefined {
  const alternatives = conditionLeaves(tree).length > MAX_PARTS ? undefined : toDisjunctiveForm(tree, true)
  if (!alternatives) return undefined
  const conflicts = alternatives.map((literals) => findConflict(literals, facts))
  const [first] = conflicts
  if (!first || conflicts.includes(undefined)) return undefined
  return conflicts.length === 1 ? first : { ...first, reason: `none of its alternatives can be true: ${first.reason}` }
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

function findConflict(literals: readonly Literal[], facts: StaticFacts): Unsatisfiable | undefined {
  const unjudged = unjudgedSentence(literals)
  if (unjudged) return unjudged
  const ranges = new Map<string, Range>()
  const truths = new Map<string, boolean>()
  for (const literal of literals) {
    const { leaf, holds } = literal
    const ownConflict = leafConflict(literal, facts)
    if (ownConflict !== undefined) return { reason: ownConflict, leaf }
    const key = literalKey(leaf)
    if (truths.get(key) === !holds) return { reason: `'${leaf.text}' cannot be both true and false`, leaf }
    truths.set(key, holds)
    const bound = boundFrom(literal)
    if (!bound) continue
    const previous = ranges.get(bound.variable) ?? initialRange(facts.counts.has(bound.variable))
    const range = narrowRange(previous, bound.op, bound.value)
    if (!range) return { reason: `no value of '${bound.variable}' satisfies all comparisons`, leaf }
    ranges.set(bound.variable, range)
  }
  return undefined
}

/** Values are compared case-sensitively, sentences are not. */
function literalKey(leaf: ConditionLeaf): string {
  if (leaf.kind === 'fact') return leaf.variable
  const text = leaf.text.replaceAll(/\s+/g, ' ')
  return leaf.kind === 'compare' ? text : text.toLowerCase()
}

/** A sentence that has to be judged together with `error_detected`: after a failed turn nobody judges one. */
function unjudgedSentence(literals: readonly Literal[]): Unsatisfiable | undefined {
  const failed = literals.some(({ leaf, holds }) => leaf.kind === 'fact' && leaf.variable === 'error_detected' && holds)
  const sentence = failed ? literals.find(({ leaf }) => leaf.kind === 'semantic')?.leaf : undefined
  const reason = `after a failed turn ('error_detected') no sentence is judged`
  return sentence && { reason, leaf: sentence }
}

function leafConflict({ leaf, holds }: Literal, facts: StaticFacts): string | undefined {
  if (leaf.kind === 'constant') return leaf.value === holds ? undefined : `'${leaf.text}' is always ${leaf.value}`
  if (leaf.kind === 'fact') {
    const type = facts.types.get(leaf.variable)
    if (type !== undefined && type !== 'boolean') return `'${leaf.variable}' is a ${type}, not a boolean`
    return undefined
  }
  return leaf.kind === 'compare' ? comparisonConflict(leaf, holds, facts) : undefined
}

function comparisonConflict(
  leaf: ConditionLeaf & { kind: 'compare' },
  holds: boolean,
  facts: StaticFacts,
): string | undefined {
  const [left, right] = [operandType(leaf.left, facts), operandType(leaf.right, facts)]
  if (left !== undefined && right !== undefined && left !== right) {
    return `it compares a ${left} with a ${right}, which is always unknown`
  }
  if (ORDER_OPERATORS.has(leaf.op) && (left ?? right ?? 'number') !== 'number')
    return `'${leaf.op}' compares numbers only, not a ${left ?? right}`
  if ('variable' in leaf.left || 'variable' in leaf.right) return undefined
  const value = compareConstants(leaf.left.literal, leaf.op, leaf.right.literal)
  return value === holds ? undefined : `${leaf.text} is always ${value}`
}

const ORDER_OPERATORS = new Set<Comparator>(['<', '<=', '>', '>='])
const OPPOSITE = { '==': '!=', '!=': '==', '<': '>=', '>=': '<', '>': '<=', '<=': '>' } as const
const MIRROR = { '==': '==', '!=': '!=', '<': '>', '>': '<', '<=': '>=', '>=': '<=' } as const

function operandType(side: Operand, { types }: StaticFacts): VariableType | undefined {
  return 'variable' in side ? types.get(side.variable) : (typeof side.literal as VariableType)
}

function compareConstants(a: VariableValue, op: Comparator, b: VariableValue): boolean {
  if (op === '==') return a === b
  if (op === '!=') return a !== b
  if (op === '<') return a < b
  if (op === '<=') return a <= b
  return op === '>' ? a > b : a >= b
}

type Bound = { variable: string; op: Comparator; value: VariableValue }

/** The restriction that a literal puts on a variable. Variables can be set from outside, so their values are not known. */
function boundFrom({ leaf, holds }: Literal): Bound | undefined {
  if (leaf.kind === 'fact') return { variable: leaf.variable, op: '==', value: holds }
  if (leaf.kind !== 'compare') return undefined
  const op = holds ? leaf.op : OPPOSITE[leaf.op]
  const { left, right } = leaf
  if ('variable' in left) return 'literal' in right ? { variable: left.variable, op, value: right.literal } : undefined
  return 'variable' in right ? { variable: right.variable, op: MIRROR[op], value: left.literal } : undefined
}

interface Range {
  low: Edge
  high: Edge
  equal: VariableValue | undefined
  unequal: readonly VariableValue[]
}

function initialRange(isCounter: boolean): Range {
  const low = { value: isCounter ? 0 : Number.NEGATIVE_INFINITY, open: false }
  return { low, high: { value: Number.POSITIVE_INFINITY, open: false }, equal: undefined, unequal: [] }
}

/** The remaining values; `undefined` when there are none. */
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

/** The stricter of two bounds; `side` is 1 for lower bounds, -1 for upper bounds. */
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
