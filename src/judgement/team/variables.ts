import { systemVariables } from '../condition/system-variables.ts'
import type { Value } from '../condition/tree.ts'
import type { Team, ValueType } from './definition.ts'
import { USER } from './definition.ts'
import { castOf } from './parts.ts'
import type { Place, TeamProblem } from './problem.ts'
import { error } from './problem.ts'

/** The variables that configuration and agents set, with their types. */
export function variableTypes(team: Team): Map<string, ValueType> {
  const types = new Map<string, ValueType>()
  for (const { name, type } of settersOf(team)) if (!types.has(name)) types.set(name, type)
  return types
}

/** Variables that the runtime sets, with their types. */
export function systemTypes(team: Team): Map<string, ValueType> {
  return systemVariables(castOf(team))
}

/** Configured values that no agent sets: they keep their value, unless a person changes it. */
export function constantsOf(team: Team): Map<string, Value> {
  const set = new Set(team.agents.flatMap(({ outputs }) => Object.keys(outputs ?? {})))
  return new Map(Object.entries(team.context_variables).filter(([name]) => !set.has(name)))
}

interface Setter {
  name: string
  type: ValueType
  place: Place
  where: string
}

function settersOf(team: Team): Setter[] {
  return [
    ...Object.entries(team.context_variables).map(([name, value]) => ({
      ...{ name, type: typeof value as ValueType },
      ...{ place: ['context_variables', name], where: 'in context_variables' },
    })),
    ...team.agents.flatMap((agent, index) =>
      Object.entries(agent.outputs ?? {}).map(([name, type]) => ({
        ...{ name, type },
        ...{ place: ['agents', index, 'outputs', name], where: `from '${agent.name}'` },
      })),
    ),
  ]
}

const KEYWORDS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'true', 'false'])

/** A variable has one type, and what the runtime sets is not for others to set. */
export function variableProblems(team: Team): TeamProblem[] {
  const system = systemTypes(team)
  const first = new Map<string, Setter>()
  return settersOf(team).flatMap((setter) => {
    const { name, type, place } = setter
    if (system.has(name))
      return [{ ...error(place, `'${name}' is set by Troupe itself`, 'use another name'), key: true }]
    if (KEYWORDS.has(name.toLowerCase())) {
      const message = `'${name}' means something else in conditions: no variable can be called like this`
      return [{ ...error(place, message, 'use another name'), key: true }]
    }
    const before = first.get(name)
    if (!before) first.set(name, setter)
    if (!before || before.type === type) return []
    return [error(place, `'${name}' is a ${type} here and a ${before.type} ${before.where}`, 'give it one type')]
  })
}

/** What the runtime's own variables say after the first answer of a run, or before it when the user speaks. */
export function freshFacts(team: Team, from: string, failed = false): Record<string, Value> {
  const { agents, groups } = castOf(team)
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
