import type { VariableType } from '../condition/system-variables.ts'
import { conditionVariables, inferVariableTypes } from './condition-variables.ts'
import type { HandoffRule } from './handoff-routing.ts'
import { settableVariables } from './settable-variables.ts'
import { isUsedElsewhere, teamMembers } from './team-members.ts'
import type { Team } from './team-schema.ts'
import { ANY_AGENT } from './team-schema.ts'
import { systemVariableTypes, variableTypes } from './team-variables.ts'

export type AskedVariables = Readonly<Record<string, VariableType>>

/**
 * The variables that each agent is asked for: the rules after its turn mention them, and neither the configuration nor
 * the `outputs` of an agent nor the caller (`externalVariables`) sets them.
 */
export function askedVariables(
  team: Team,
  rules: readonly HandoffRule[],
  externalVariables: readonly string[] = [],
): Map<string, AskedVariables> {
  const declared = new Map([...variableTypes(team), ...systemVariableTypes(team)])
  const types = inferVariableTypes(rules, declared)
  const isUnset = (name: string) => !declared.has(name) && !externalVariables.includes(name)
  const asked = teamMembers(team).agents.map((agent): [string, AskedVariables] => {
    const canSet = reportableVariables(team, agent)
    const names = rulesAfterTurn(team, rules, agent).flatMap(conditionVariables)
    const wanted = [...new Set(names)].filter((name) => isUnset(name) && canSet(name))
    return [agent, Object.fromEntries(wanted.map((name) => [name, types.get(name) ?? 'string']))]
  })
  return new Map(asked.filter(([, variables]) => Object.keys(variables).length > 0))
}

/** The rules that are tried after an agent has worked, alone or in a parallel group. */
function rulesAfterTurn(team: Team, rules: readonly HandoffRule[], agent: string): HandoffRule[] {
  const groups = team.groups.filter(({ kind, members }) => kind === 'parallel' && members.includes(agent))
  const sources = new Set([agent, ...groups.map(({ name }) => name)])
  return rules.filter(({ from, to }) => sources.has(from) || (from === ANY_AGENT && to !== agent))
}

/** An agent can report any variable, a sub-team those that it knows, a person or a member of a consensus group none. */
function reportableVariables(team: Team, name: string): (variable: string) => boolean {
  const entry = team.agents.find((agent) => agent.name === name)
  const inConsensus = team.groups.some(({ kind, members }) => kind === 'consensus' && members.includes(name))
  if (entry?.kind === 'human' || (inConsensus && !isUsedElsewhere(team, name))) return () => false
  if (typeof entry?.team !== 'object') return () => true
  const inner = settableVariables(entry.team)
  return (variable) => inner.has(variable)
}
