/** Three values: what is unknown is neither taken nor denied. */
export type Truth = true | false | 'unknown'

export type Value = number | string | boolean

export type Comparator = '==' | '!=' | '<' | '<=' | '>' | '>='

/** What is wrong in a condition's text, with its place as offsets into the text. */
export interface ConditionProblem {
  message: string
  at: number
  length: number
  hint?: string
}

/** A condition: leaves joined by `and`, `or` and `not`. */
export type Node = { kind: 'and' | 'or'; parts: Node[] } | { kind: 'not'; part: Node } | Leaf

/** Exact leaves are settled in code; a semantic leaf is a sentence that somebody has to judge. */
export type Leaf =
  | { kind: 'compare'; text: string; left: Operand; op: Comparator; right: Operand }
  | { kind: 'fact'; text: string; variable: string }
  | { kind: 'constant'; text: string; value: boolean }
  | { kind: 'semantic'; text: string; variables: string[] }

export type Operand = { literal: Value } | { variable: string; templated: boolean }

/** The names that a condition may mean. */
export interface Names {
  agents: readonly string[]
  groups: readonly string[]
  variables: readonly string[]
}

/** The leaves from left to right. */
export function leavesOf(tree: Node): Leaf[] {
  if ('parts' in tree) return tree.parts.flatMap(leavesOf)
  return 'part' in tree ? leavesOf(tree.part) : [tree]
}

/** The variables that a leaf speaks of. */
export function variablesOf(leaf: Leaf): string[] {
  if (leaf.kind === 'fact') return [leaf.variable]
  if (leaf.kind === 'semantic') return leaf.variables
  if (leaf.kind === 'constant') return []
  return [leaf.left, leaf.right].flatMap((side) => ('variable' in side ? [side.variable] : []))
}
