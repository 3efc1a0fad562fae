import type { GraphEdge, GraphNode, TeamGraph } from './graph.ts'
import { isGroupNode, nodesInFlowOrder } from './graph.ts'
import { ANY_AGENT, PREVIOUS_AGENT, USER } from './team-schema.ts'

/*
 * A team as Mermaid text. Names get ids of our own, and labels are quoted and escaped: what people write in a condition
 * never becomes part of the drawing's syntax.
 */

const MAX_LABEL_LENGTH = 60

interface Drawing {
  graph: TeamGraph
  /** Begins every id, so that a sub-team's names do not meet its parent's. */
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
  const taken = new Set<string>()
  return [
    ...special.map((name) => `${margin}${nodeId(drawing, name)}([${escapeLabel(name.replace('_', ' '))}])`),
    ...outside.flatMap((node) => nodeLines(drawing, node, taken)),
    `${margin}${nodeId(drawing, USER)} --> ${nodeId(drawing, graph.entry)}`,
    ...graph.edges.map((edge) => edgeLine(drawing, edge)),
  ]
}

function nodeLines(drawing: Drawing, node: GraphNode, taken: Set<string>): string[] {
  const { graph, margin } = drawing
  const id = nodeId(drawing, node.name)
  const text = node.role === undefined ? node.name : `${node.name}\n${truncateLabel(node.role)}`
  if (isGroupNode(node)) {
    const mine = (node.members ?? []).filter((name) => !taken.has(name))
    for (const name of mine) taken.add(name)
    const members = graph.nodes.filter(({ name }) => mine.includes(name))
    const inner = { ...drawing, margin: `${margin}  ` }
    // Mermaid draws a node in one place; a member of a second group is tied to it instead.
    const elsewhere = (node.members ?? []).filter((name) => !mine.includes(name))
    return [
      `${margin}subgraph ${id}[${escapeLabel(`${node.name} (${node.kind})`)}]`,
      ...members.flatMap((member) => nodeLines(inner, member, taken)),
      ...(mine.length === 0 ? [`${margin}  ${id}x[${escapeLabel(elsewhere.join(', '))}]`] : []),
      `${margin}end`,
      ...elsewhere.map((name) => `${margin}${id} -.- ${nodeId(drawing, name)}`),
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
  const facts = [
    ...(condition === '' ? [] : [truncateLabel(condition)]),
    ...(priority > 1 ? [`priority ${priority}`] : []),
    ...(approve ? ['approved by a person'] : []),
  ]
  const text = facts.length > 0 ? `|${escapeLabel(facts.join('\n'))}|` : ''
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

/** Quoted for Mermaid: everything that it, or the page that shows it, would read as markup is a character reference. */
function escapeLabel(text: string): string {
  const safe = text.replaceAll(/[#&"<>`\\|{}[\]()]/g, (sign) => `#${sign.codePointAt(0)};`)
  return `"${safe.replaceAll('\n', '<br/>')}"`
}
