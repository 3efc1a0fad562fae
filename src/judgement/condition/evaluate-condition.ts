import { evaluateComparison, evaluateFact, quoteValue, usableValue } from './comparison.ts'
import type { ConditionLeaf, ConditionNode, Truth, VariableValue } from './condition-tree.ts'

/** The result of one leaf. The text of a semantic leaf has the values of its variables inserted. */
export interface PartResult {
  text: string
  kind: 'exact' | 'semantic'
  value: Truth
  reason: string
}

export interface ConditionResult {
  value: Truth
  parts: PartResult[]
  /** Semantic leaves without a verdict that can still change the value. */
  open: string[]
  /** The part of `open` that can still make it true; empty when the value is known or can no longer be true. */
  neededForTrue: string[]
}

export interface ConditionContext {
  variables: Readonly<Record<string, VariableValue>>
  verdict(leaf: string): boolean | undefined
  /** The explanation of a verdict. */
  verdictReason?(leaf: string): string | undefined
}

/**
 * Evaluates a condition in three-valued (Kleene) logic: unknown stays unknown unless the other parts decide. The
 * content of a variable or a verdict is never parsed as a condition.
 */
export function evaluateCondition(tree: ConditionNode, context: ConditionContext): ConditionResult {
  const parts: PartResult[] = []
  const { value, neededForTrue, neededForFalse } = evaluateNode(tree, context, parts)
  const semanticTexts = new Set(parts.flatMap(({ kind, text }) => (kind === 'semantic' ? [text] : [])))
  const inOrder = (leaves: ReadonlySet<string>) => [...semanticTexts].filter((leaf) => leaves.has(leaf))
  return {
    value,
    parts,
    open: inOrder(new Set([...neededForTrue, ...neededForFalse])),
    neededForTrue: inOrder(new Set(neededForTrue)),
  }
}

/** The value of a node, whether it can still become true or false, and the open leaves on which that depends. */
interface NodeState {
  value: Truth
  canBeTrue: boolean
  canBeFalse: boolean
  neededForTrue: readonly string[]
  neededForFalse: readonly string[]
}

function evaluateNode(node: ConditionNode, context: ConditionContext, parts: PartResult[]): NodeState {
  if ('part' in node) return negate(evaluateNode(node.part, context, parts))
  if ('parts' in node) {
    const states = node.parts.map((part) => evaluateNode(part, context, parts))
    return node.kind === 'and' ? conjunction(states) : negate(conjunction(states.map(negate)))
  }
  const { part, open } = evaluateLeaf(node, context)
  parts.push(part)
  const { value } = part
  const needed = open ? [part.text] : []
  return {
    ...{ value, canBeTrue: open || value === true, canBeFalse: open || value === false },
    ...{ neededForTrue: needed, neededForFalse: needed },
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
  const isFalse = parts.some(({ value }) => value === false)
  const isTrue = parts.every(({ value }) => value === true)
  const canBeTrue = parts.every((part) => part.canBeTrue)
  return {
    value: isFalse ? false : isTrue ? true : 'unknown',
    canBeTrue,
    canBeFalse: parts.some((part) => part.canBeFalse),
    neededForTrue: canBeTrue ? parts.flatMap((part) => part.neededForTrue) : [],
    neededForFalse: isFalse ? [] : parts.flatMap((part) => (part.canBeFalse ? part.neededForFalse : [])),
  }
}

function evaluateLeaf(leaf: ConditionLeaf, context: ConditionContext): { part: PartResult; open: boolean } {
  if (leaf.kind === 'semantic') return evaluateSemantic(leaf, context)
  const result =
    leaf.kind === 'compare'
      ? evaluateComparison(leaf, context.variables)
      : leaf.kind === 'fact'
        ? evaluateFact(leaf.variable, context.variables)
        : { value: leaf.value, reason: 'a constant' }
  return { part: { text: leaf.text, kind: 'exact', ...result }, open: false }
}

function evaluateSemantic(
  leaf: Extract<ConditionLeaf, { kind: 'semantic' }>,
  context: ConditionContext,
): { part: PartResult; open: boolean } {
  const missing = leaf.variables.filter((name) => usableValue(name, context.variables) === undefined)
  if (missing.length > 0) {
    const reason = missing.map((name) => `${name} is not set`).join('; ')
    return { part: { text: leaf.text, kind: 'semantic', value: 'unknown', reason }, open: false }
  }
  const text = leaf.variables.length === 0 ? leaf.text : renderTemplate(leaf.text, context.variables)
  const verdict = context.verdict(text)
  if (verdict === undefined) {
    return { part: { text, kind: 'semantic', value: 'unknown', reason: 'not judged yet' }, open: true }
  }
  const reason = context.verdictReason?.(text) ?? (verdict ? 'judged true' : 'judged false')
  return { part: { text, kind: 'semantic', value: verdict, reason }, open: false }
}

/** Inserts the values of variables in a single pass: a value that looks like a template stays text. */
function renderTemplate(text: string, variables: Readonly<Record<string, VariableValue>>): string {
  return text.replaceAll(/\{\{([^{}]*)\}\}/g, (_, name: string) => {
    const value = usableValue(name.trim(), variables)
    return typeof value === 'string' ? quoteValue(value) : String(value)
  })
}
