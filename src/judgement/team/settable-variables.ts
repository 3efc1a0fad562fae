import type { VariableType } from '../condition/system-variables.ts'
import { conditionVariables } from './flow-check.ts'
import { parseHandoffRules } from './handoff-rules.ts'
import type { Team } from './team-schema.ts'
import { systemVariableTypes, variableTypes } from './team-variables.ts'

/**
 * The variables that a person or a parent team may set, with their declared types: those that the team sets, those in
 * its conditions, and those of its sub-teams. System variables are excluded.
 */
export function settableVariables(team: Team): Map<string, VariableType | undefined> {
  const settable = new Map<string, VariableType | undefined>(variableTypes(team))
  const inConditions = parseHandoffRules(team).rules.flatMap(conditionVariables)
  const inSubTeams = team.agents.flatMap(({ team: inner }) =>
    typeof inner === 'object' ? [...settableVariables(inner)] : [],
  )
  for (const [name, type] of [...inConditions.map((variable) => [variable, undefined] as const), ...inSubTeams]) {
    if (settable.get(name) === undefined) settable.set(name, type)
  }
  for (const name of systemVariableTypes(team).keys()) settable.delete(name)
  return settable
}
