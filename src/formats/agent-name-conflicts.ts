import type { Agent } from '../kernel/agent.ts'
import { toAgentName } from '../kernel/agent-name.ts'
import type { LoadedAgents } from './agent-folder.ts'
import type { FileProblem } from './file-problem.ts'

/**
 * Makes agent names unique: the first agent keeps the name. A later one of a collection is renamed `collection:name`, any
 * other is dropped; both are reported.
 */
export function resolveNameConflicts({ agents, problems }: LoadedAgents): LoadedAgents {
  const byName = new Map<string, Agent>()
  const allProblems: FileProblem[] = [...problems]
  for (const agent of agents) {
    const first = byName.get(agent.name)
    if (!first) {
      byName.set(agent.name, agent)
      continue
    }
    const path = agentPath(agent) ?? ''
    const conflict = `duplicate agent '${agent.name}': the one in ${agentPath(first) ?? 'the program'} is used`
    const fullName = qualifiedName(agent)
    if (fullName === undefined || byName.has(fullName)) {
      allProblems.push({ level: 'warning', path, line: 1, message: conflict, agent: agent.name })
      continue
    }
    byName.set(fullName, { ...agent, name: fullName })
    const message = `${conflict}; this one is available as '${fullName}'`
    allProblems.push({ level: 'warning', path, line: 1, message, agent: fullName })
  }
  return { agents: resolveCallees(byName, allProblems), problems: allProblems }
}

/** The name prefixed with the collection, as in `security:scout`. */
export function qualifiedName({ name, origin }: Agent): string | undefined {
  return origin?.by === 'user' && origin.collection !== undefined
    ? toAgentName(`${origin.collection}:${name}`)
    : undefined
}

/** Resolves qualified names in `agent.agents` to the unique names and reports unknown ones. */
function resolveCallees(byName: ReadonlyMap<string, Agent>, allProblems: FileProblem[]): Agent[] {
  const agents = [...byName.values()]
  const byQualifiedName = new Map(agents.map((agent) => [qualifiedName(agent), agent.name]))
  return agents.map((agent) => {
    if (!agent.agents) return agent
    const missing = agent.agents.filter((name) => !byName.has(name) && !byQualifiedName.has(name))
    if (missing.length > 0) {
      const message = `'agents' names unknown agents: ${missing.map((name) => `'${name}'`).join(', ')}`
      allProblems.push({ level: 'warning', path: agentPath(agent) ?? '', line: 1, message, agent: agent.name })
    }
    return {
      ...agent,
      agents: agent.agents.map((name) => (byName.has(name) ? name : (byQualifiedName.get(name) ?? name))),
    }
  })
}

function agentPath({ origin }: Agent): string | undefined {
  return origin?.by === 'user' ? origin.path : undefined
}
