import type { Names } from './tree.ts'

export type VariableKind = 'number' | 'string' | 'boolean'

const OF_THE_TEAM: Readonly<Record<string, VariableKind>> = {
  iteration_count: 'number',
  revision_count: 'number',
  round: 'number',
  last_agent: 'string',
  error_detected: 'boolean',
}

/** Every variable that the runtime itself sets for a team with these names: a closed list. */
export function systemVariables({ agents, groups }: Pick<Names, 'agents' | 'groups'>): Map<string, VariableKind> {
  return new Map<string, VariableKind>([
    ...agents.map((name) => [`${name}_load`, 'number'] as const),
    ...[...agents, ...groups].map((name) => [`${name}_complete`, 'boolean'] as const),
    ...Object.entries(OF_THE_TEAM),
  ])
}

/** The system variable that a word stands for, however its case, blanks and hyphens are written. */
export function systemVariable(word: string, { agents, groups }: Names): string | undefined {
  const plain = plainly(word)
  if (Object.hasOwn(OF_THE_TEAM, plain)) return plain
  for (const [suffix, owners] of [
    ['_load', agents],
    ['_complete', [...agents, ...groups]],
  ] as const) {
    if (!plain.endsWith(suffix)) continue
    const stem = word.slice(0, -suffix.length)
    // Two agents may differ in a hyphen only: the one spelled exactly so is meant.
    const owner = owners.find((name) => name === stem) ?? owners.find((name) => plainly(name) === plainly(stem))
    if (owner !== undefined) return `${owner}${suffix}`
  }
  return undefined
}

function plainly(name: string): string {
  return name.toLowerCase().replaceAll(/[\s-]+/g, '_')
}
