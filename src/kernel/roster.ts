import { TroupeError, unknownNameError } from '../errors.ts'
import type { Agent } from './agent.ts'
import { requireAgentName } from './agent-name.ts'

/** Registry of the agents that a run may use, by `name` or `collection:name`. */
export interface Roster {
  readonly names: readonly string[]
  /** Throws `unknown_agent`, which lists the known names, nearest first. */
  get(name: string): Agent
  has(name: string): boolean
  /** Adds agents that were defined since, such as new agent files. Absent if that cannot happen. */
  refresh?(): Promise<void>
}

export function createRoster(agents: readonly Agent[]): Roster {
  const byName = new Map<string, Agent>()
  for (const agent of agents) {
    requireAgentName(agent.name, '`agents`: `name`')
    const other = byName.get(agent.name)
    if (other) throw duplicateAgentError(other, agent)
    byName.set(agent.name, agent)
  }
  const names = [...byName.keys()]
  const byQualifiedName = new Map(
    [...agents].reverse().flatMap((agent) => qualifiedNames(agent).map((name) => [name, agent])),
  )
  return {
    names,
    has: (name) => byName.has(name) || byQualifiedName.has(name),
    get(name) {
      const agent = byName.get(name) ?? byQualifiedName.get(name)
      if (!agent) throw unknownNameError('unknown_agent', { kind: 'agent', name, known: names })
      return agent
    },
  }
}

/** The names that tools offer to a model: without agents that are `on_request`. */
export function offeredNames(roster: Roster): string[] {
  return roster.names.filter((name) => roster.get(name).on_request !== true)
}

function duplicateAgentError(...agents: [Agent, Agent]): TroupeError {
  const paths = agents.flatMap(({ origin }) =>
    origin?.by === 'user' && origin.path !== undefined ? [origin.path] : [],
  )
  const where = paths.length === 0 ? '' : `: ${paths.join(' and ')}`
  return new TroupeError('invalid_input', `two agents have the name '${agents[0].name}'${where}`, {
    hint: 'rename one of them',
  })
}

/** A roster in which these agents take precedence. */
export function extendRoster(roster: Roster, agents: readonly Agent[]): Roster {
  if (agents.length === 0) return roster
  const added = new Map(agents.map((agent) => [agent.name, agent]))
  return {
    names: [...new Set([...added.keys(), ...roster.names])],
    has: (name) => added.has(name) || roster.has(name),
    get: (name) => added.get(name) ?? roster.get(name),
  }
}

/** A roster that still knows these agents by name where it lacks them. They are not offered: its `names` are the same. */
export function withFallbackAgents(roster: Roster, agents: ReadonlyMap<string, Agent>): Roster {
  if (agents.size === 0) return roster
  return {
    get names() {
      return roster.names
    },
    has: (name) => roster.has(name) || agents.has(name),
    get: (name) => (roster.has(name) ? undefined : agents.get(name)) ?? roster.get(name),
  }
}

function qualifiedNames({ name, origin }: Agent): string[] {
  return origin?.by === 'user' && origin.collection !== undefined ? [`${origin.collection}:${name}`] : []
}
