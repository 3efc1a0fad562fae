import type { GraphEdge, GraphNode, TeamGraph } from './graph.ts'
import { isGroupNode, nodesInFlowOrder } from './graph.ts'
import { ANY_AGENT, PREVIOUS_AGENT, USER } from './team-schema.ts'

/*
 * Renders a team graph as Mermaid text. Nodes get generated ids, and labels are quoted and escaped, which prevents
 * injection of Mermaid or HTML syntax by names and conditions.
 */

const MAX_LABEL_LENGTH = 60

interface Drawing {
  graph: TeamGraph
  /** Prefix of every id, so that names of a sub-team do not collide with those of its parent. */
  prefix: string
  margin: string
}

export function toMermaid(graph: TeamGraph): string {
  return ['flowchart TD', ...drawGraph({ graph, prefix: 'a', margin: '  ' })].join('\n')
}

function drawGraph(drawing: Drawing): string[] {
  const { graph, margin } = drawing
  const inGroups = new Set(graph.nodes.flatMap(({ members }) => members ?? []))
  const outside = nodesInFlowOrder(graph).filter((node) => isGroupNode(node) || !inGroups.has(node.name))
  const used = new Set(graph.edges.flatMap(({ from, to }) => [from, to]))
  const special = [USER, ANY_AGENT, PREVIOUS_AGENT].filter((name) => used.has(name) || name === USER)
  const drawn = new Set<string>()
  return [
    ...special.map((name) => `${margin}${nodeId(drawing, name)}([${escapeLabel(name.replace('_', ' '))}])`),
    ...outside.flatMap((node) => nodeLines(drawing, node, drawn)),
    `${margin}${nodeId(drawing, USER)} --> ${nodeId(drawing, graph.entry)}`,
    ...graph.edges.map((edge) => edgeLine(drawing, edge)),
  ]
}

function nodeLines(drawing: Drawing, node: GraphNode, drawn: Set<string>): string[] {
  const { graph, margin } = drawing
  const id = nodeId(drawing, node.name)
  const text = node.role === undefined ? node.name : `${node.name}\n${truncateLabel(node.role)}`
  if (isGroupNode(node)) {
    const newMembers = (node.members ?? []).filter((name) => !drawn.has(name))
    for (const name of newMembers) drawn.add(name)
    const members = graph.nodes.filter(({ name }) => newMembers.includes(name))
    const inner = { ...drawing, margin: `${margin}  ` }
    // Mermaid draws a node in one subgraph only; a member of a second group is linked to it instead.
    const shared = (node.members ?? []).filter((name) => !newMembers.includes(name))
    return [
      `${margin}subgraph ${id}[${escapeLabel(`${node.name} (${node.kind})`)}]`,
      ...members.flatMap((member) => nodeLines(inner, member, drawn)),
      ...(newMembers.length === 0 ? [`${margin}  ${id}x[${escapeLabel(shared.join(', '))}]`] : []),
      `${margin}end`,
      ...shared.map((name) => `${margin}${id} -.- ${nodeId(drawing, name)}`),
    ]
  }
  if (typeof node.team === 'object') {
    const inner = { graph: node.team, prefix: `${id}_`, margin: `${margin}  ` }
    return [
      `${margin}subgraph ${id}[${escapeLabel(`${node.name}: ${node.team.name}`)}]`,
      ...drawGraph(inner),
      `${margin}end`,
    ]
  }
  const shape = node.kind === 'human' ? [`{{`, `}}`] : node.kind === 'team' ? ['[[', ']]'] : ['[', ']']
  return [`${margin}${id}${shape[0]}${escapeLabel(text)}${shape[1]}`]
}

function edgeLine(drawing: Drawing, { from, to, condition, priority, approve }: GraphEdge): string {
  const labels = [
    ...(condition === '' ? [] : [truncateLabel(condition)]),
    ...(priority > 1 ? [`priority ${priority}`] : []),
    ...(approve ? ['needs approval'] : []),
  ]
  const text = labels.length > 0 ? `|${escapeLabel(labels.join('\n'))}|` : ''
  return `${drawing.margin}${nodeId(drawing, from)} -->${text} ${nodeId(drawing, to)}`
}

function nodeId({ graph, prefix }: Drawing, name: string): string {
  const index = graph.nodes.findIndex((node) => node.name === name)
  return index < 0 ? `${prefix}_${name}` : `${prefix}${index + 1}`
}

function truncateLabel(text: string): string {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  return plain.length > MAX_LABEL_LENGTH ? `${plain.slice(0, MAX_LABEL_LENGTH - 1).trimEnd()}…` : plain
}

/** Replaces every character that Mermaid or HTML would parse as markup by a character reference. */
function escapeLabel(text: string): string {
  const escaped = text.replaceAll(/[#&"<>`\\|{}[\]()]/g, (character) => `#${character.codePointAt(0)};`)
  return `"${escaped.replaceAll('\n', '<br/>')}"`
}
