import { TroupeError, unknownNameError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import { requireAgentName } from '../kernel/agent-name.ts'
import type { ForkChanges } from '../kernel/event.ts'
import type { Roster } from '../kernel/roster.ts'

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

function duplicateAgentError(...agents: [Agent, Agent]): TroupeError {
  const paths = agents.flatMap(({ origin }) =>
    origin?.by === 'user' && origin.path !== undefined ? [origin.path] : [],
  )
  const where = paths.length === 0 ? '' : `: ${paths.join(' and ')}`
  return new TroupeError('invalid_input', `two agents have the name '${agents[0].name}'${where}`, {
    hint: 'rename one of them',
  })
}

type AgentChange = NonNullable<ForkChanges['agents']>[string]

export function applyAgentChange(agent: Agent, change: AgentChange | undefined): Agent {
  return change ? { ...agent, ...change } : agent
}

/** The roster with the agent changes of a fork, which hold for every session of the run, in every process. */
export function withForkChanges(roster: Roster, changes: ForkChanges | undefined): Roster {
  const agents = changes?.agents
  return agents ? createRoster(roster.names.map((name) => applyAgentChange(roster.get(name), agents[name]))) : roster
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
