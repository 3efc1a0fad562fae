import { evaluateComparison, evaluateFact, quoteValue, usableValue } from './comparison.ts'
import type { ConditionLeaf, ConditionNode, Truth, VariableValue } from './condition-tree.ts'

/** What one leaf came to, and why. The text of a semantic part is the one that was judged, values put in. */
export interface PartResult {
  text: string
  kind: 'exact' | 'semantic'
  value: Truth
  reason: string
}

export interface ConditionResult {
  value: Truth
  parts: PartResult[]
  /** Semantic leaves (after templates) without a verdict that can still change the value. */
  open: string[]
  /** Those of them that can still make it true: empty when it is settled, or can no longer hold. */
  neededForTrue: string[]
}

export interface ConditionContext {
  variables: Readonly<Record<string, VariableValue>>
  verdict(leaf: string): boolean | undefined
  /** Why a semantic leaf has its verdict, in words. */
  verdictReason?(leaf: string): string | undefined
}

/**
 * The value of a condition in three-valued logic: unknown stays unknown unless the rest settles it. Nothing in a
 * variable or a verdict is ever read as a condition.
 */
export function evaluateCondition(tree: ConditionNode, state: ConditionContext): ConditionResult {
  const parts: PartResult[] = []
  const { value, neededForTrue, neededForFalse } = evaluateNode(tree, state, parts)
  const asked = new Set(parts.flatMap(({ kind, text }) => (kind === 'semantic' ? [text] : [])))
  const hopes = new Set(neededForTrue)
  const open = new Set([...neededForTrue, ...neededForFalse])
  const inOrder = (leaves: ReadonlySet<string>) => [...asked].filter((leaf) => leaves.has(leaf))
  return { value, parts, open: inOrder(open), neededForTrue: inOrder(hopes) }
}

/** A node's value; whether it can still hold or fail; and the open leaves on which that depends. */
interface NodeState {
  value: Truth
  canBeTrue: boolean
  canBeFalse: boolean
  neededForTrue: readonly string[]
  neededForFalse: readonly string[]
}

function evaluateNode(node: ConditionNode, state: ConditionContext, parts: PartResult[]): NodeState {
  if ('part' in node) return negate(evaluateNode(node.part, state, parts))
  if ('parts' in node) {
    const standings = node.parts.map((part) => evaluateNode(part, state, parts))
    return node.kind === 'and' ? conjunction(standings) : negate(conjunction(standings.map(negate)))
  }
  const { part, open } = evaluateLeaf(node, state)
  parts.push(part)
  if (open)
    return {
      value: 'unknown',
      canBeTrue: true,
      canBeFalse: true,
      neededForTrue: [part.text],
      neededForFalse: [part.text],
    }
  return {
    value: part.value,
    canBeTrue: part.value === true,
    canBeFalse: part.value === false,
    neededForTrue: [],
    neededForFalse: [],
  }
}

function negate({ value, canBeTrue, canBeFalse, neededForTrue, neededForFalse }: NodeState): NodeState {
  const opposite = value === 'unknown' ? value : !value
  return {
    value: opposite,
    canBeTrue: canBeFalse,
    canBeFalse: canBeTrue,
    neededForTrue: neededForFalse,
    neededForFalse: neededForTrue,
  }
}

function conjunction(parts: readonly NodeState[]): NodeState {
  const fails = parts.some(({ value }) => value === false)
  const holds = parts.every(({ value }) => value === true)
  const canBeTrue = parts.every((part) => part.canBeTrue)
  return {
    value: fails ? false : holds ? true : 'unknown',
    canBeTrue,
    canBeFalse: parts.some((part) => part.canBeFalse),
    neededForTrue: canBeTrue ? parts.flatMap((part) => part.neededForTrue) : [],
    neededForFalse: fails ? [] : parts.flatMap((part) => (part.canBeFalse ? part.neededForFalse : [])),
  }
}

function evaluateLeaf(leaf: ConditionLeaf, state: ConditionContext): { part: PartResult; open: boolean } {
  if (leaf.kind === 'semantic') return evaluateSemantic(leaf, state)
  const settled =
    leaf.kind === 'compare'
      ? evaluateComparison(leaf, state.variables)
      : leaf.kind === 'fact'
        ? evaluateFact(leaf.variable, state.variables)
        : { value: leaf.value, reason: 'it says so itself' }
  return { part: { text: leaf.text, kind: 'exact', ...settled }, open: false }
}

function evaluateSemantic(
  leaf: Extract<ConditionLeaf, { kind: 'semantic' }>,
  state: ConditionContext,
): { part: PartResult; open: boolean } {
  const missing = leaf.variables.filter((name) => usableValue(name, state.variables) === undefined)
  if (missing.length > 0) {
    const reason = missing.map((name) => `${name} is not set`).join('; ')
    return { part: { text: leaf.text, kind: 'semantic', value: 'unknown', reason }, open: false }
  }
  const text = leaf.variables.length === 0 ? leaf.text : renderTemplate(leaf.text, state.variables)
  const verdict = state.verdict(text)
  if (verdict === undefined) {
    return { part: { text, kind: 'semantic', value: 'unknown', reason: 'nobody has judged it' }, open: true }
  }
  const reason = state.verdictReason?.(text) ?? (verdict ? 'judged to be so' : 'judged not to be so')
  return { part: { text, kind: 'semantic', value: verdict, reason }, open: false }
}

/** The sentence with values in the place of its variables, once: a value that looks like a variable stays text. */
function renderTemplate(text: string, variables: Readonly<Record<string, VariableValue>>): string {
  return text.replaceAll(/\{\{([^{}]*)\}\}/g, (_, name: string) => {
    const value = usableValue(name.trim(), variables)
    return typeof value === 'string' ? quoteValue(value) : String(value)
  })
}
