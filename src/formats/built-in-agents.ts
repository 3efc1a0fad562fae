import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Agent } from '../kernel/agent.ts'

/*
 * The agents that come with Troupe, imported from `built-in-agents.json`, so that a bundler includes them. Their agent files
 * (`agents/*.md`) are the source; parsing them in every process would load a YAML parser. A test compares both and writes the
 * JSON with UPDATE_AGENTS=1.
 */

export const BUILT_IN_COLLECTION = 'troupe'

export const RESERVED_NAME_HINT = `choose a name that does not begin with \`${BUILT_IN_COLLECTION}:\`, under which a built-in agent stays available`

/** True for an agent that would hide a built-in one under its qualified name. */
export function hasReservedName({ name, origin }: Agent): boolean {
  const isBuiltIn = origin?.by === 'user' && origin.collection === BUILT_IN_COLLECTION
  return !isBuiltIn && name.startsWith(`${BUILT_IN_COLLECTION}:`)
}

/** The folder of the agents that come with Troupe. */
export function builtInAgentsFolder(): string {
  return fileURLToPath(new URL('../../agents', import.meta.url))
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
  const { default: agents } = await import('./built-in-agents.json', { with: { type: 'json' } })
  return (agents as Agent[]).map((agent) => ({ ...agent, ...absoluteOrigin(agent) }))
}

/** Paths in the file are relative to the folder of the agents. */
function absoluteOrigin({ origin }: Agent): Pick<Agent, 'origin'> {
  if (origin?.by !== 'user' || origin.path === undefined) return {}
  return { origin: { ...origin, path: join(builtInAgentsFolder(), origin.path) } }
}
