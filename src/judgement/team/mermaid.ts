import { ANY_AGENT, PREVIOUS_AGENT, USER } from './definition.ts'
import type { GraphEdge, GraphNode, TeamGraph } from './graph.ts'
import { inOrderOfWork, isGroup } from './graph.ts'

/*
 * A team as Mermaid text. Names get ids of our own, and labels are quoted and escaped: what people write in a condition
 * never becomes part of the drawing's syntax.
 */

const LONGEST = 60

interface Drawing {
  graph: TeamGraph
  /** Begins every id, so that a sub-team's names do not meet its parent's. */
  prefix: string
  margin: string
}

export function mermaidOf(graph: TeamGraph): string {
  return ['flowchart TD', ...drawn({ graph, prefix: 'a', margin: '  ' })].join('\n')
}

function drawn(drawing: Drawing): string[] {
  const { graph, margin } = drawing
  const inGroups = new Set(graph.nodes.flatMap(({ members }) => members ?? []))
  const outside = inOrderOfWork(graph).filter((node) => isGroup(node) || !inGroups.has(node.name))
  const used = new Set(graph.edges.flatMap(({ from, to }) => [from, to]))
  const special = [USER, ANY_AGENT, PREVIOUS_AGENT].filter((name) => used.has(name) || name === USER)
  const taken = new Set<string>()
  return [
    ...special.map((name) => `${margin}${idOf(drawing, name)}([${label(name.replace('_', ' '))}])`),
    ...outside.flatMap((node) => nodeLines(drawing, node, taken)),
    `${margin}${idOf(drawing, USER)} --> ${idOf(drawing, graph.entry)}`,
    ...graph.edges.map((edge) => edgeLine(drawing, edge)),
  ]
}

function nodeLines(drawing: Drawing, node: GraphNode, taken: Set<string>): string[] {
  const { graph, margin } = drawing
  const id = idOf(drawing, node.name)
  const text = node.role === undefined ? node.name : `${node.name}\n${shortened(node.role)}`
  if (isGroup(node)) {
    const mine = (node.members ?? []).filter((name) => !taken.has(name))
    for (const name of mine) taken.add(name)
    const members = graph.nodes.filter(({ name }) => mine.includes(name))
    const inner = { ...drawing, margin: `${margin}  ` }
    // Mermaid draws a node in one place; a member of a second group is tied to it instead.
    const elsewhere = (node.members ?? []).filter((name) => !mine.includes(name))
    return [
      `${margin}subgraph ${id}[${label(`${node.name} (${node.kind})`)}]`,
      ...members.flatMap((member) => nodeLines(inner, member, taken)),
      ...(mine.length === 0 ? [`${margin}  ${id}x[${label(elsewhere.join(', '))}]`] : []),
      `${margin}end`,
      ...elsewhere.map((name) => `${margin}${id} -.- ${idOf(drawing, name)}`),
    ]
  }
  if (typeof node.team === 'object') {
    const inner = { graph: node.team, prefix: `${id}_`, margin: `${margin}  ` }
    return [`${margin}subgraph ${id}[${label(`${node.name}: ${node.team.name}`)}]`, ...drawn(inner), `${margin}end`]
  }
  const shape = node.kind === 'human' ? [`{{`, `}}`] : node.kind === 'team' ? ['[[', ']]'] : ['[', ']']
  return [`${margin}${id}${shape[0]}${label(text)}${shape[1]}`]
}

function edgeLine(drawing: Drawing, { from, to, condition, priority, approve }: GraphEdge): string {
  const facts = [
    ...(condition === '' ? [] : [shortened(condition)]),
    ...(priority > 1 ? [`priority ${priority}`] : []),
    ...(approve ? ['approved by a person'] : []),
  ]
  const text = facts.length > 0 ? `|${label(facts.join('\n'))}|` : ''
  return `${drawing.margin}${idOf(drawing, from)} -->${text} ${idOf(drawing, to)}`
}

function idOf({ graph, prefix }: Drawing, name: string): string {
  const index = graph.nodes.findIndex((node) => node.name === name)
  return index < 0 ? `${prefix}_${name}` : `${prefix}${index + 1}`
}

function shortened(text: string): string {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST - 1).trimEnd()}…` : plain
}

/** Quoted for Mermaid: everything that it, or the page that shows it, would read as markup is a character reference. */
function label(text: string): string {
  const safe = text.replaceAll(/[#&"<>`\\|{}[\]()]/g, (sign) => `#${sign.codePointAt(0)};`)
  return `"${safe.replaceAll('\n', '<br/>')}"`
}
