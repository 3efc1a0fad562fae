import type { VariableType } from '../condition/system-variables.ts'
import { conditionVariables } from './flow-check.ts'
import { parseHandoffRules } from './handoff-rules.ts'
import type { Team } from './team-schema.ts'
import { systemVariableTypes, variableTypes } from './team-variables.ts'

/**
 * The variables that people, and a team above, may give to a team, with their types where it says them: those that it
 * sets, those that its conditions speak of, and the same of teams within it.
 */
export function settableVariables(team: Team): Map<string, VariableType | undefined> {
  const own = variableTypes(team)
  const used = parseHandoffRules(team).rules.flatMap(conditionVariables)
  const within = team.agents.flatMap(({ team: inner }) =>
    typeof inner === 'object' ? [...settableVariables(inner)] : [],
  )
  const found = new Map<string, VariableType | undefined>(own)
  for (const [name, type] of [...used.map((each) => [each, undefined] as const), ...within]) {
    if (found.get(name) === undefined) found.set(name, type)
  }
  for (const name of systemVariableTypes(team).keys()) found.delete(name)
  return found
}
