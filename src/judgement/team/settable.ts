import { usedVariables } from './check.ts'
import type { Team, ValueType } from './definition.ts'
import { rulesOf } from './rules.ts'
import { systemTypes, variableTypes } from './variables.ts'

/**
 * The variables that people, and a team above, may give to a team, with their types where it says them: those that it
 * sets, those that its conditions speak of, and the same of teams within it.
 */
export function settableIn(team: Team): Map<string, ValueType | undefined> {
  const own = variableTypes(team)
  const used = rulesOf(team).rules.flatMap(usedVariables)
  const within = team.agents.flatMap(({ team: inner }) => (typeof inner === 'object' ? [...settableIn(inner)] : []))
  const found = new Map<string, ValueType | undefined>(own)
  for (const [name, type] of [...used.map((each) => [each, undefined] as const), ...within]) {
    if (found.get(name) === undefined) found.set(name, type)
  }
  for (const name of systemTypes(team).keys()) found.delete(name)
  return found
}
