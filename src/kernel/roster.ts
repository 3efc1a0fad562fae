import { TroupeError, unknownNameError } from '../errors.ts'
import type { Agent } from './agent.ts'

/** The agents a run may use, by name; one of a collection also as `collection:name`. */
export interface Roster {
  readonly names: readonly string[]
  /** The agent of this name; an unknown one gives an error that lists the known, nearest first. */
  get(name: string): Agent
  has(name: string): boolean
}

export function createRoster(agents: readonly Agent[]): Roster {
  const byName = new Map<string, Agent>()
  for (const agent of agents) {
    if (byName.has(agent.name)) {
      throw new TroupeError('invalid_input', `two agents are called '${agent.name}'`, { hint: 'rename one of them' })
    }
    byName.set(agent.name, agent)
  }
  const names = [...byName.keys()]
  const full = new Map([...agents].reverse().flatMap((agent) => qualifiedNames(agent).map((name) => [name, agent])))
  return {
    names,
    has: (name) => byName.has(name) || full.has(name),
    get(name) {
      const agent = byName.get(name) ?? full.get(name)
      if (!agent) throw unknownNameError('unknown_agent', { kind: 'agent', name, known: names })
      return agent
    },
  }
}

/** A roster in which these are found first, whoever else is called the same. */
export function extendRoster(roster: Roster, agents: readonly Agent[]): Roster {
  if (agents.length === 0) return roster
  const first = new Map(agents.map((agent) => [agent.name, agent]))
  return {
    names: [...new Set([...first.keys(), ...roster.names])],
    has: (name) => first.has(name) || roster.has(name),
    get: (name) => first.get(name) ?? roster.get(name),
  }
}

function qualifiedNames({ name, origin }: Agent): string[] {
  return origin?.by === 'user' && origin.collection !== undefined ? [`${origin.collection}:${name}`] : []
}
