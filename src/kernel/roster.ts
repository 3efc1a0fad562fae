import { TroupeError, unknownName } from '../errors.ts'
import type { Agent } from './agent.ts'

/** The agents a run may use, by name. */
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
  return {
    names,
    has: (name) => byName.has(name),
    get(name) {
      const agent = byName.get(name)
      if (!agent) throw unknownName('unknown_agent', 'agent', name, names)
      return agent
    },
  }
}
