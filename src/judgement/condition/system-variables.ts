import type { ConditionNames } from './condition-tree.ts'

export const variableTypeNames = ['number', 'string', 'boolean'] as const
export type VariableType = (typeof variableTypeNames)[number]

const TEAM_VARIABLES: Readonly<Record<string, VariableType>> = {
  iteration_count: 'number',
  revision_count: 'number',
  round: 'number',
  last_agent: 'string',
  error_detected: 'boolean',
}

/** All variables that the runtime sets for a team with these agents and groups, with their types. */
export function systemVariables({
  agents,
  groups,
}: Pick<ConditionNames, 'agents' | 'groups'>): Map<string, VariableType> {
  return new Map<string, VariableType>([
    ...agents.map((name) => [`${name}_load`, 'number'] as const),
    ...[...agents, ...groups].map((name) => [`${name}_complete`, 'boolean'] as const),
    ...Object.entries(TEAM_VARIABLES),
  ])
}

/** The system variable that a word refers to, ignoring case and treating blanks and hyphens as `_`. */
export function resolveSystemVariable(word: string, { agents, groups }: ConditionNames): string | undefined {
  const plain = normalizeName(word)
  if (Object.hasOwn(TEAM_VARIABLES, plain)) return plain
  for (const [suffix, owners] of [
    ['_load', agents],
    ['_complete', [...agents, ...groups]],
  ] as const) {
    if (!plain.endsWith(suffix)) continue
    const stem = word.slice(0, -suffix.length)
    // Two agent names may differ only in a hyphen: the exact spelling takes precedence.
    const owner =
      owners.find((name) => name === stem) ?? owners.find((name) => normalizeName(name) === normalizeName(stem))
    if (owner !== undefined) return `${owner}${suffix}`
  }
  return undefined
}

function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s-]+/g, '_')
}
