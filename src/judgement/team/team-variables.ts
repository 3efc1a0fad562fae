import type { VariableValue } from '../condition/condition-tree.ts'
import type { VariableType } from '../condition/system-variables.ts'
import { systemVariables } from '../condition/system-variables.ts'
import { teamMembers } from './team-members.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { USER } from './team-schema.ts'

/** The variables in `context_variables` and in the `outputs` of agents, with their types. */
export function variableTypes(team: Team): Map<string, VariableType> {
  const types = new Map<string, VariableType>()
  for (const { name, type } of variableSetters(team)) if (!types.has(name)) types.set(name, type)
  return types
}

/** The variables that the runtime sets, with their types. */
export function systemVariableTypes(team: Team): Map<string, VariableType> {
  return systemVariables(teamMembers(team))
}

interface Setter {
  name: string
  type: VariableType
  field: FieldPath
  /** For messages: "in context_variables". */
  origin: string
}

function variableSetters(team: Team): Setter[] {
  return [
    ...Object.entries(team.context_variables).map(([name, value]) => ({
      ...{ name, type: typeof value as VariableType },
      ...{ field: ['context_variables', name], origin: 'in context_variables' },
    })),
    ...team.agents.flatMap((agent, index) =>
      Object.entries(agent.outputs ?? {}).map(([name, type]) => ({
        ...{ name, type },
        ...{ field: ['agents', index, 'outputs', name], origin: `in the outputs of '${agent.name}'` },
      })),
    ),
  ]
}

const KEYWORDS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'true', 'false'])

/** Checks that each variable has one type and does not redefine a system variable or keyword. */
export function variableProblems(team: Team): TeamProblem[] {
  const system = systemVariableTypes(team)
  const first = new Map<string, Setter>()
  return variableSetters(team).flatMap((setter) => {
    const { name, type, field } = setter
    if (system.has(name))
      return [{ ...teamError(field, `'${name}' is a system variable`, 'use another name'), key: true }]
    if (KEYWORDS.has(name.toLowerCase())) {
      const message = `'${name}' is a keyword of conditions and cannot be a variable name`
      return [{ ...teamError(field, message, 'use another name'), key: true }]
    }
    const earlier = first.get(name)
    if (!earlier) first.set(name, setter)
    if (!earlier || earlier.type === type) return []
    const message = `'${name}' is a ${type} here and a ${earlier.type} ${earlier.origin}`
    return [teamError(field, message, 'use the same type everywhere')]
  })
}

/** The values of system variables after the first turn of a run, or before it for a message of the user. */
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
