import { entryMember } from './team-members.ts'
import type { Team, TeamAgent } from './team-schema.ts'
import { USER } from './team-schema.ts'

/** One who can be handed to. */
export interface GraphNode {
  name: string
  kind: 'agent' | 'human' | 'team' | 'parallel' | 'consensus'
  role?: string
  /** Of a group. */
  members?: string[]
  /** Of a sub-team; a path where its file was not read. */
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

/** A team as it is drawn. */
export interface TeamGraph {
  name: string
  entry: string
  after_work: Team['after_work_behavior']
  nodes: GraphNode[]
  /** In the order in which they are tried. */
  edges: GraphEdge[]
}

export function buildTeamGraph(team: Team): TeamGraph {
  const handoffs = team.handoffs.map((handoff) => ({
    ...{ from: handoff.from_agent, to: handoff.to_agent, condition: handoff.condition ?? '' },
    ...{ priority: handoff.priority, approve: handoff.approve },
  }))
  const joins = team.groups.flatMap(({ name, then }) =>
    then === undefined ? [] : [{ from: name, to: then, condition: '', priority: 0, approve: false }],
  )
  return {
    ...{ name: team.name, entry: entryMember(team) ?? '', after_work: team.after_work_behavior },
    nodes: [
      ...team.agents.map(agentNode),
      ...(team.form?.roles ?? []).map(({ name, role }): GraphNode => ({ name, kind: 'agent', role })),
      ...team.groups.map(({ name, kind, members }): GraphNode => ({ name, kind, members })),
    ],
    edges: [...handoffs, ...joins].toSorted((a, b) => b.priority - a.priority),
  }
}

function agentNode(agent: TeamAgent): GraphNode {
  const { name, kind, role, description, team } = agent
  const says = role ?? description ?? (agent.uses === undefined ? undefined : `uses ${agent.uses}`)
  return {
    ...{ name, kind: team === undefined ? kind : 'team' },
    ...(says === undefined ? undefined : { role: says }),
    ...(team === undefined ? undefined : { team: typeof team === 'string' ? team : buildTeamGraph(team) }),
  }
}

/** Everyone in the order in which work reaches them; who is never reached comes last. */
export function nodesInFlowOrder({ entry, nodes, edges }: TeamGraph): GraphNode[] {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const order = new Set<GraphNode>()
  const waiting = [entry, ...edges.filter(({ from }) => from === USER).map(({ to }) => to)]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const node = byName.get(name)
    if (!node || order.has(node)) continue
    order.add(node)
    const onward = edges.filter(({ from }) => from === name).map(({ to }) => to)
    waiting.unshift(...(node.members ?? []))
    waiting.push(...onward)
  }
  return [...new Set([...order, ...nodes])]
}

export function isGroupNode({ kind }: GraphNode): boolean {
  return kind === 'parallel' || kind === 'consensus'
}
