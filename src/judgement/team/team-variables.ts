import type { VariableValue } from '../condition/condition-tree.ts'
import type { VariableType } from '../condition/system-variables.ts'
import { systemVariables } from '../condition/system-variables.ts'
import { teamMembers } from './team-members.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { USER } from './team-schema.ts'

/** The variables that configuration and agents set, with their types. */
export function variableTypes(team: Team): Map<string, VariableType> {
  const types = new Map<string, VariableType>()
  for (const { name, type } of variableSetters(team)) if (!types.has(name)) types.set(name, type)
  return types
}

/** Variables that the runtime sets, with their types. */
export function systemVariableTypes(team: Team): Map<string, VariableType> {
  return systemVariables(teamMembers(team))
}

/** Configured values that no agent sets: they keep their value, unless a person changes it. */
export function constantVariables(team: Team): Map<string, VariableValue> {
  const set = new Set(team.agents.flatMap(({ outputs }) => Object.keys(outputs ?? {})))
  return new Map(Object.entries(team.context_variables).filter(([name]) => !set.has(name)))
}

interface Setter {
  name: string
  type: VariableType
  field: FieldPath
  where: string
}

function variableSetters(team: Team): Setter[] {
  return [
    ...Object.entries(team.context_variables).map(([name, value]) => ({
      ...{ name, type: typeof value as VariableType },
      ...{ field: ['context_variables', name], where: 'in context_variables' },
    })),
    ...team.agents.flatMap((agent, index) =>
      Object.entries(agent.outputs ?? {}).map(([name, type]) => ({
        ...{ name, type },
        ...{ field: ['agents', index, 'outputs', name], where: `from '${agent.name}'` },
      })),
    ),
  ]
}

const KEYWORDS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'true', 'false'])

/** A variable has one type, and what the runtime sets is not for others to set. */
export function variableProblems(team: Team): TeamProblem[] {
  const system = systemVariableTypes(team)
  const first = new Map<string, Setter>()
  return variableSetters(team).flatMap((setter) => {
    const { name, type, field } = setter
    if (system.has(name))
      return [{ ...teamError(field, `'${name}' is set by Troupe itself`, 'use another name'), key: true }]
    if (KEYWORDS.has(name.toLowerCase())) {
      const message = `'${name}' means something else in conditions: no variable can be called like this`
      return [{ ...teamError(field, message, 'use another name'), key: true }]
    }
    const before = first.get(name)
    if (!before) first.set(name, setter)
    if (!before || before.type === type) return []
    return [teamError(field, `'${name}' is a ${type} here and a ${before.type} ${before.where}`, 'give it one type')]
  })
}

/** What the runtime's own variables say after the first answer of a run, or before it when the user speaks. */
export function initialSystemVariables(team: Team, from: string, failed = false): Record<string, VariableValue> {
  const { agents, groups } = teamMembers(team)
  const members = team.groups.find(({ name }) => name === from)?.members ?? []
  const worked = new Set([from, ...members])
  const turns = from === USER ? 0 : 1
  return {
    ...Object.fromEntries(agents.map((name) => [`${name}_load`, worked.has(name) ? 1 : 0])),
    ...Object.fromEntries([...agents, ...groups].map((name) => [`${name}_complete`, worked.has(name) && !failed])),
    ...{ iteration_count: turns, revision_count: 0, round: turns, error_detected: failed },
    ...(from === USER ? undefined : { last_agent: from }),
  }
}
