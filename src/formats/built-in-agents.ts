import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Agent } from '../kernel/agent.ts'

/*
 * The agents that come with Troupe, read from `agents/built-in.json`. Their agent files (`agents/*.md`) are the source; parsing
 * them in every process would load a YAML parser. A test compares both and writes the file with UPDATE_AGENTS=1.
 */

export const BUILT_IN_COLLECTION = 'troupe'

/** The folder of the agents that come with Troupe. */
export function builtInAgentsFolder(): string {
  return fileURLToPath(new URL('../../agents', import.meta.url))
}

export function builtInAgentsFile(): string {
  return join(builtInAgentsFolder(), 'built-in.json')
}

/** Adds the built-in agents to the given ones; a built-in agent whose name is taken becomes `troupe:name`. */
export async function withBuiltInAgents(agents: readonly Agent[]): Promise<Agent[]> {
  const names = new Set(agents.map(({ name }) => name))
  const builtIn = (await readBuiltInAgents()).map((agent) =>
    names.has(agent.name) ? { ...agent, name: `${BUILT_IN_COLLECTION}:${agent.name}` } : agent,
  )
  return [...agents, ...builtIn.filter(({ name }) => !names.has(name))]
}

export async function readBuiltInAgents(): Promise<Agent[]> {
  const agents = JSON.parse(await readFile(builtInAgentsFile(), 'utf8')) as Agent[]
  return agents.map((agent) => ({ ...agent, ...absoluteOrigin(agent) }))
}

/** Paths in the file are relative to the folder of the agents. */
function absoluteOrigin({ origin }: Agent): Pick<Agent, 'origin'> {
  if (origin?.by !== 'user' || origin.path === undefined) return {}
  return { origin: { ...origin, path: join(builtInAgentsFolder(), origin.path) } }
}
