import type { Agent } from '../kernel/agent.ts'
import type { LoadedAgents } from './agent-folder.ts'
import type { FileProblem } from './file-problem.ts'

/**
 * Gives each name to one agent: the first counts. A later one that belongs to a collection stays reachable as
 * `collection:name`; one that does not is left out. Both are reported.
 */
export function resolveNameConflicts({ agents, problems }: LoadedAgents): LoadedAgents {
  const byName = new Map<string, Agent>()
  const said: FileProblem[] = [...problems]
  for (const agent of agents) {
    const first = byName.get(agent.name)
    if (!first) {
      byName.set(agent.name, agent)
      continue
    }
    const path = agentPath(agent) ?? ''
    const twin = `a second agent '${agent.name}'; the one in ${agentPath(first) ?? 'the program'} counts`
    const full = qualifiedName(agent)
    if (full === undefined || byName.has(full)) {
      said.push({ level: 'warning', path, line: 1, message: twin, agent: agent.name })
      continue
    }
    byName.set(full, { ...agent, name: full })
    said.push({ level: 'warning', path, line: 1, message: `${twin}, this one is '${full}'`, agent: full })
  }
  return { agents: resolveCallees(byName, said), problems: said }
}

/** The name with its collection. */
export function qualifiedName({ name, origin }: Agent): string | undefined {
  return origin?.by === 'user' && origin.collection !== undefined ? `${origin.collection}:${name}` : undefined
}

/** Whom an agent may call is said in the names that count; those that nobody has are reported. */
function resolveCallees(byName: ReadonlyMap<string, Agent>, said: FileProblem[]): Agent[] {
  const agents = [...byName.values()]
  const full = new Map(agents.map((agent) => [qualifiedName(agent), agent.name]))
  return agents.map((agent) => {
    if (!agent.agents) return agent
    const missing = agent.agents.filter((name) => !byName.has(name) && !full.has(name))
    if (missing.length > 0) {
      const message = `may call agents that are not there: ${missing.map((name) => `'${name}'`).join(', ')}`
      said.push({ level: 'warning', path: agentPath(agent) ?? '', line: 1, message, agent: agent.name })
    }
    return { ...agent, agents: agent.agents.map((name) => (byName.has(name) ? name : (full.get(name) ?? name))) }
  })
}

function agentPath({ origin }: Agent): string | undefined {
  return origin?.by === 'user' ? origin.path : undefined
}
