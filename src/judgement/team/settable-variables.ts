import type { VariableType } from '../condition/system-variables.ts'
import { inferVariableTypes } from './condition-variables.ts'
import { parseHandoffRules } from './handoff-rules.ts'
import type { Team } from './team-schema.ts'
import { systemVariableTypes, variableTypes } from './team-variables.ts'

/**
 * The variables that a person or a parent team may set, with their types, if known: those that the team sets, those in its
 * conditions, and those of its sub-teams. System variables are excluded.
 */
export function settableVariables(team: Team): Map<string, VariableType | undefined> {
  const declared = variableTypes(team)
  const system = systemVariableTypes(team)
  const inSubTeams = team.agents.flatMap(({ team: inner }) =>
    typeof inner === 'object' ? [...settableVariables(inner)] : [],
  )
  const inConditions = inferVariableTypes(parseHandoffRules(team).rules, new Map([...declared, ...system]))
  const settable = new Map([...declared, ...inConditions])
  for (const [name, type] of inSubTeams) if (settable.get(name) === undefined) settable.set(name, type)
  for (const name of system.keys()) settable.delete(name)
  return settable
}
