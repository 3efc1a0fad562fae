/** Three-valued logic. */
export type Truth = true | false | 'unknown'

export type VariableValue = number | string | boolean

export type Comparator = '==' | '!=' | '<' | '<=' | '>' | '>='

/** A problem in the text of a condition; `offset` and `length` mark the part it is about. */
export interface ConditionProblem {
  message: string
  offset: number
  length: number
  hint?: string
}

/** The syntax tree of a condition. */
export type ConditionNode =
  | { kind: 'and' | 'or'; parts: ConditionNode[] }
  | { kind: 'not'; part: ConditionNode }
  | ConditionLeaf

/** Exact leaves are evaluated in code; a semantic leaf is a sentence that an agent or a model has to judge. */
export type ConditionLeaf =
  | { kind: 'compare'; text: string; left: Operand; op: Comparator; right: Operand }
  | { kind: 'fact'; text: string; variable: string }
  | { kind: 'constant'; text: string; value: boolean }
  | { kind: 'semantic'; text: string; variables: string[] }

export type Operand = { literal: VariableValue } | { variable: string; templated: boolean }

/** The names that a condition may refer to. */
export interface ConditionNames {
  agents: readonly string[]
  groups: readonly string[]
  variables: readonly string[]
}

/** The leaves from left to right. */
export function conditionLeaves(tree: ConditionNode): ConditionLeaf[] {
  if ('parts' in tree) return tree.parts.flatMap(conditionLeaves)
  return 'part' in tree ? conditionLeaves(tree.part) : [tree]
}

/** The variables that a leaf refers to. */
export function leafVariables(leaf: ConditionLeaf): string[] {
  if (leaf.kind === 'fact') return [leaf.variable]
  if (leaf.kind === 'semantic') return leaf.variables
  if (leaf.kind === 'constant') return []
  return [leaf.left, leaf.right].flatMap((side) => ('variable' in side ? [side.variable] : []))
}
