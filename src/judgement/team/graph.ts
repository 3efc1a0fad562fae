import { entryMember } from './team-members.ts'
import type { Team, TeamAgent } from './team-schema.ts'
import { USER } from './team-schema.ts'

/** A possible target of a handoff. */
export interface GraphNode {
  name: string
  kind: 'agent' | 'human' | 'team' | 'parallel' | 'consensus'
  role?: string
  /** The members of a group. */
  members?: string[]
  /** The sub-team; its path when the file was not read. */
  team?: TeamGraph | string
}

export interface GraphEdge {
  from: string
  to: string
  /** Empty means always. */
  condition: string
  priority: number
  approve: boolean
}

/** The graph of a team, for drawing. */
export interface TeamGraph {
  name: string
  entry: string
  after_work: Team['after_work_behavior']
  nodes: GraphNode[]
  /** In the order of evaluation. */
  edges: GraphEdge[]
}

export function buildTeamGraph(team: Team): TeamGraph {
  const handoffs = team.handoffs.map((handoff) => ({
    ...{ from: handoff.from_agent, to: handoff.to_agent, condition: handoff.condition ?? '' },
    ...{ priority: handoff.priority, approve: handoff.approve },
  }))
  const groupEdges = team.groups.flatMap(({ name, then }) =>
    then === undefined ? [] : [{ from: name, to: then, condition: '', priority: 0, approve: false }],
  )
  return {
    ...{ name: team.name, entry: entryMember(team) ?? '', after_work: team.after_work_behavior },
    nodes: [
      ...team.agents.map(agentNode),
      ...(team.form?.roles ?? []).map(({ name, role }): GraphNode => ({ name, kind: 'agent', role })),
      ...team.groups.map(({ name, kind, members }): GraphNode => ({ name, kind, members })),
    ],
    edges: [...handoffs, ...groupEdges].toSorted((a, b) => b.priority - a.priority),
  }
}

function agentNode(agent: TeamAgent): GraphNode {
  const { name, kind, role, description, team } = agent
  const label = role ?? description ?? (agent.uses === undefined ? undefined : `uses ${agent.uses}`)
  return {
    ...{ name, kind: team === undefined ? kind : 'team' },
    ...(label === undefined ? undefined : { role: label }),
    ...(team === undefined ? undefined : { team: typeof team === 'string' ? team : buildTeamGraph(team) }),
  }
}

/** The nodes in the order in which work reaches them; unreachable nodes come last. */
export function nodesInFlowOrder({ entry, nodes, edges }: TeamGraph): GraphNode[] {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const order = new Set<GraphNode>()
  const queue = [entry, ...edges.filter(({ from }) => from === USER).map(({ to }) => to)]
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const node = byName.get(name)
    if (!node || order.has(node)) continue
    order.add(node)
    const targets = edges.filter(({ from }) => from === name).map(({ to }) => to)
    queue.unshift(...(node.members ?? []))
    queue.push(...targets)
  }
  return [...new Set([...order, ...nodes])]
}

export function isGroupNode({ kind }: GraphNode): boolean {
  return kind === 'parallel' || kind === 'consensus'
}
