import { compare, fact, quoted, usable } from './compare.ts'
import type { Leaf, Node, Truth, Value } from './tree.ts'

/** What one leaf came to, and why. The text of a semantic part is the one that was judged, values put in. */
export interface PartValue {
  text: string
  kind: 'exact' | 'semantic'
  value: Truth
  reason: string
}

export interface Evaluation {
  value: Truth
  parts: PartValue[]
  /** Semantic leaves (after templates) without a verdict that can still change the value. */
  open: string[]
  /** Those of them that can still make it true: empty when it is settled, or can no longer hold. */
  hopes: string[]
}

export interface ConditionState {
  variables: Readonly<Record<string, Value>>
  verdict(leaf: string): boolean | undefined
  /** Why a semantic leaf has its verdict, in words. */
  because?(leaf: string): string | undefined
}

/**
 * The value of a condition in three-valued logic: unknown stays unknown unless the rest settles it. Nothing in a
 * variable or a verdict is ever read as a condition.
 */
export function evaluate(tree: Node, state: ConditionState): Evaluation {
  const parts: PartValue[] = []
  const { value, toHold, toFail } = weigh(tree, state, parts)
  const asked = new Set(parts.flatMap(({ kind, text }) => (kind === 'semantic' ? [text] : [])))
  const hopes = new Set(toHold)
  const open = new Set([...toHold, ...toFail])
  const inOrder = (leaves: ReadonlySet<string>) => [...asked].filter((leaf) => leaves.has(leaf))
  return { value, parts, open: inOrder(open), hopes: inOrder(hopes) }
}

/** A node's value; whether it can still hold or fail; and the open leaves on which that depends. */
interface Standing {
  value: Truth
  mayHold: boolean
  mayFail: boolean
  toHold: readonly string[]
  toFail: readonly string[]
}

function weigh(node: Node, state: ConditionState, parts: PartValue[]): Standing {
  if ('part' in node) return denied(weigh(node.part, state, parts))
  if ('parts' in node) {
    const standings = node.parts.map((part) => weigh(part, state, parts))
    return node.kind === 'and' ? conjunction(standings) : denied(conjunction(standings.map(denied)))
  }
  const { part, open } = settle(node, state)
  parts.push(part)
  if (open) return { value: 'unknown', mayHold: true, mayFail: true, toHold: [part.text], toFail: [part.text] }
  return { value: part.value, mayHold: part.value === true, mayFail: part.value === false, toHold: [], toFail: [] }
}

function denied({ value, mayHold, mayFail, toHold, toFail }: Standing): Standing {
  const opposite = value === 'unknown' ? value : !value
  return { value: opposite, mayHold: mayFail, mayFail: mayHold, toHold: toFail, toFail: toHold }
}

function conjunction(parts: readonly Standing[]): Standing {
  const fails = parts.some(({ value }) => value === false)
  const holds = parts.every(({ value }) => value === true)
  const mayHold = parts.every((part) => part.mayHold)
  return {
    value: fails ? false : holds ? true : 'unknown',
    mayHold,
    mayFail: parts.some((part) => part.mayFail),
    toHold: mayHold ? parts.flatMap((part) => part.toHold) : [],
    toFail: fails ? [] : parts.flatMap((part) => (part.mayFail ? part.toFail : [])),
  }
}

function settle(leaf: Leaf, state: ConditionState): { part: PartValue; open: boolean } {
  if (leaf.kind === 'semantic') return judged(leaf, state)
  const settled =
    leaf.kind === 'compare'
      ? compare(leaf, state.variables)
      : leaf.kind === 'fact'
        ? fact(leaf.variable, state.variables)
        : { value: leaf.value, reason: 'it says so itself' }
  return { part: { text: leaf.text, kind: 'exact', ...settled }, open: false }
}

function judged(leaf: Extract<Leaf, { kind: 'semantic' }>, state: ConditionState): { part: PartValue; open: boolean } {
  const missing = leaf.variables.filter((name) => usable(name, state.variables) === undefined)
  if (missing.length > 0) {
    const reason = missing.map((name) => `${name} is not set`).join('; ')
    return { part: { text: leaf.text, kind: 'semantic', value: 'unknown', reason }, open: false }
  }
  const text = leaf.variables.length === 0 ? leaf.text : rendered(leaf.text, state.variables)
  const verdict = state.verdict(text)
  if (verdict === undefined) {
    return { part: { text, kind: 'semantic', value: 'unknown', reason: 'nobody has judged it' }, open: true }
  }
  const reason = state.because?.(text) ?? (verdict ? 'judged to be so' : 'judged not to be so')
  return { part: { text, kind: 'semantic', value: verdict, reason }, open: false }
}

/** The sentence with values in the place of its variables, once: a value that looks like a variable stays text. */
function rendered(text: string, variables: Readonly<Record<string, Value>>): string {
  return text.replaceAll(/\{\{([^{}]*)\}\}/g, (_, name: string) => {
    const value = usable(name.trim(), variables)
    return typeof value === 'string' ? quoted(value) : String(value)
  })
}
