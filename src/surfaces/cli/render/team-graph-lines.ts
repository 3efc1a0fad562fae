import type { GraphEdge, GraphNode, TeamGraph } from '../../../judgement/team/graph.ts'
import { nodesInFlowOrder } from '../../../judgement/team/graph.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

/* Renders a team as a list: each node once, in flow order, with its outgoing edges. Fits any width and team size. */

export interface GraphSymbols {
  entry: string
  edge: string
  lastEdge: string
  ellipsis: string
}

export const UNICODE_SYMBOLS: GraphSymbols = { entry: '▸', edge: '├─▶', lastEdge: '└─▶', ellipsis: '…' }
export const ASCII_SYMBOLS: GraphSymbols = { entry: '>', edge: '|->', lastEdge: '`->', ellipsis: '~' }

const INDENT = 4
const MIN_WIDTH = 16

const AFTER_WORK = {
  return_to_user: 'otherwise return to the user',
  terminate: 'otherwise the run ends',
  continue: 'otherwise the same agent continues',
} as const

export function teamGraphLines(graph: TeamGraph, style: TerminalStyle, symbols: GraphSymbols): string[] {
  const heading = renderLine(style, [['bold', toTerminalLine(graph.name)]])
  return [heading, ...bodyLines(graph, style, symbols)].map((text) => text.replaceAll('…', symbols.ellipsis))
}

function bodyLines(graph: TeamGraph, style: TerminalStyle, symbols: GraphSymbols): string[] {
  const specialLines = (name: string, title: string) => {
    const edges = graph.edges.filter(({ from }) => from === name)
    return edges.length === 0 ? [] : [renderLine(style, ['  ', ['bold', title]]), ...edgeLines(edges, style, symbols)]
  }
  const inGroups = new Set(graph.nodes.flatMap(({ members }) => members ?? []))
  const topLevel = nodesInFlowOrder(graph).filter(({ name }) => !inGroups.has(name))
  const drawn = new Set<string>()
  return [
    ...specialLines('user', 'user'),
    ...topLevel.flatMap((node) => nodeLines(node, { graph, style, symbols, drawn })),
    ...specialLines('any_agent', 'any agent'),
    renderLine(style, ['  ', ['dim', AFTER_WORK[graph.after_work]]]),
  ]
}

interface GraphContext {
  graph: TeamGraph
  style: TerminalStyle
  symbols: GraphSymbols
  /** Members already shown in a group. */
  drawn: Set<string>
}

function nodeLines(node: GraphNode, context: GraphContext): string[] {
  const { graph, style, symbols, drawn } = context
  const inner: TerminalStyle = { width: Math.max(MIN_WIDTH, style.width - INDENT), paint: style.paint }
  const members = graph.nodes.filter(({ name }) => node.members?.includes(name) && !drawn.has(name))
  for (const { name } of members) drawn.add(name)
  const inside = [
    ...members.flatMap((member) => nodeLines(member, { ...context, style: inner })),
    ...(typeof node.team === 'object' ? bodyLines(node.team, inner, symbols) : []),
  ]
  return [
    renderLine(style, [
      node.name === graph.entry ? `${symbols.entry} ` : '  ',
      ['bold', node.name],
      ...nodeFacts(node),
    ]),
    ...inside.map((text) => ' '.repeat(INDENT) + text),
    ...edgeLines(
      graph.edges.filter(({ from }) => from === node.name),
      style,
      symbols,
    ),
  ]
}

function nodeFacts({ kind, role, members, team }: GraphNode): TextSpan[] {
  const facts = [
    ...(kind === 'human' ? ['human'] : []),
    ...(members ? [`${kind}: ${members.join(', ')}`] : []),
    ...(team === undefined ? [] : [`team ${typeof team === 'string' ? team : team.name}`]),
    ...(role === undefined ? [] : [role]),
  ]
  return facts.length === 0 ? [] : [['dim', `  ${toTerminalLine(facts.join(' · '))}`]]
}

function edgeLines(edges: readonly GraphEdge[], style: TerminalStyle, symbols: GraphSymbols): string[] {
  return edges.map(({ to, condition, priority, approve }, index) => {
    const facts = [...(priority > 1 ? [`[${priority}]`] : []), ...(approve ? ['(needs approval)'] : []), condition]
    const label = toTerminalLine(facts.join(' '))
    const symbol = index === edges.length - 1 ? symbols.lastEdge : symbols.edge
    return renderLine(style, [
      '    ',
      ['dim', symbol],
      ` ${to}`,
      ...(label === '' ? [] : ([['dim', `  ${label}`]] satisfies TextSpan[])),
    ])
  })
}
