import type { Agent } from './agent.ts'

/** Registry of the agents that a run may use, by `name` or `collection:name`. */
export interface Roster {
  readonly names: readonly string[]
  /** Throws `unknown_agent`, which lists the known names, nearest first. */
  get(name: string): Agent
  has(name: string): boolean
  /** Adds agents that were defined since, such as new agent files. Absent if that cannot happen. */
  refresh?(): Promise<void>
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
