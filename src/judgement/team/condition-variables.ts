import type { ConditionLeaf, Operand } from '../condition/condition-tree.ts'
import { conditionLeaves, leafVariables } from '../condition/condition-tree.ts'
import type { VariableType } from '../condition/system-variables.ts'
import type { HandoffRule } from './handoff-routing.ts'

/* The variables in conditions, with the types that their comparisons require. */

/** The variables in the condition of a rule. */
export function conditionVariables({ condition }: HandoffRule): string[] {
  return [...new Set(conditionLeaves(condition).flatMap(leafVariables))]
}

const EQUALITY_OPERATORS: ReadonlySet<string> = new Set(['==', '!='])

/** The variables of all conditions with their types, declared or inferred from comparisons; `undefined` allows any. */
export function inferVariableTypes(
  rules: readonly HandoffRule[],
  declared: ReadonlyMap<string, VariableType>,
): Map<string, VariableType | undefined> {
  const leaves = rules.flatMap(({ condition }) => conditionLeaves(condition))
  const types = new Map<string, VariableType>(declared)
  const infer = (variable: string, type: VariableType) => !types.has(variable) && types.set(variable, type)
  for (const leaf of leaves) {
    if (leaf.kind === 'fact') infer(leaf.variable, 'boolean')
    for (const [variable, type] of comparedTypes(leaf)) infer(variable, type)
  }
  inferFromEqualVariables(leaves, types)
  return new Map(leaves.flatMap(leafVariables).map((variable) => [variable, types.get(variable)]))
}

/** The types that a comparison requires without knowing any variable. */
function comparedTypes(leaf: ConditionLeaf): [variable: string, type: VariableType][] {
  if (leaf.kind !== 'compare') return []
  const { left, op, right } = leaf
  const typeOf = (other: Operand) =>
    !EQUALITY_OPERATORS.has(op) ? 'number' : 'literal' in other ? (typeof other.literal as VariableType) : undefined
  return [[left, right] as const, [right, left] as const].flatMap(([side, other]): [string, VariableType][] => {
    const type = typeOf(other)
    return 'variable' in side && type !== undefined ? [[side.variable, type]] : []
  })
}

/** Two variables that are tested for equality have one type. Each pass extends a chain of such variables by one. */
function inferFromEqualVariables(leaves: readonly ConditionLeaf[], types: Map<string, VariableType>): void {
  for (let size = -1; size !== types.size; ) {
    size = types.size
    for (const leaf of leaves) {
      if (leaf.kind !== 'compare' || !('variable' in leaf.left) || !('variable' in leaf.right)) continue
      const { left, right } = leaf
      const type = types.get(left.variable) ?? types.get(right.variable)
      if (type === undefined) continue
      for (const { variable } of [left, right]) if (!types.has(variable)) types.set(variable, type)
    }
  }
}
