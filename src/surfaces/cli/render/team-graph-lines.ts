import type { GraphEdge, GraphNode, TeamGraph } from '../../../judgement/team/graph.ts'
import { nodesInFlowOrder } from '../../../judgement/team/graph.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine } from './text-width.ts'

/*
 * A team on a terminal: everyone once, in the order in which work reaches them, with the ways that lead on. Unlike a
 * drawing with boxes it fits any width and any number of agents.
 */

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
  return_to_user: 'otherwise back to the user',
  terminate: 'otherwise the work is done',
  continue: 'otherwise whoever worked goes on',
} as const

export function teamGraphLines(graph: TeamGraph, style: TerminalStyle, signs: GraphSymbols): string[] {
  const head = renderLine(style, [['bold', toTerminalLine(graph.name)]])
  return [head, ...bodyLines(graph, style, signs)].map((text) => text.replaceAll('…', signs.ellipsis))
}

function bodyLines(graph: TeamGraph, style: TerminalStyle, signs: GraphSymbols): string[] {
  const special = (name: string, title: string) => {
    const edges = graph.edges.filter(({ from }) => from === name)
    return edges.length === 0 ? [] : [renderLine(style, ['  ', ['bold', title]]), ...edgeLines(edges, style, signs)]
  }
  const inGroups = new Set(graph.nodes.flatMap(({ members }) => members ?? []))
  const outside = nodesInFlowOrder(graph).filter(({ name }) => !inGroups.has(name))
  const drawn = new Set<string>()
  return [
    ...special('user', 'user'),
    ...outside.flatMap((node) => nodeLines(node, { graph, style, signs, drawn })),
    ...special('any_agent', 'any agent'),
    renderLine(style, ['  ', ['dim', AFTER_WORK[graph.after_work]]]),
  ]
}

interface GraphContext {
  graph: TeamGraph
  style: TerminalStyle
  signs: GraphSymbols
  /** Members that were shown in a group: each is shown once. */
  drawn: Set<string>
}

function nodeLines(node: GraphNode, drawing: GraphContext): string[] {
  const { graph, style, signs, drawn } = drawing
  const inner: TerminalStyle = { width: Math.max(MIN_WIDTH, style.width - INDENT), paint: style.paint }
  const members = graph.nodes.filter(({ name }) => node.members?.includes(name) && !drawn.has(name))
  for (const { name } of members) drawn.add(name)
  const inside = [
    ...members.flatMap((member) => nodeLines(member, { ...drawing, style: inner })),
    ...(typeof node.team === 'object' ? bodyLines(node.team, inner, signs) : []),
  ]
  return [
    renderLine(style, [node.name === graph.entry ? `${signs.entry} ` : '  ', ['bold', node.name], ...nodeFacts(node)]),
    ...inside.map((text) => ' '.repeat(INDENT) + text),
    ...edgeLines(
      graph.edges.filter(({ from }) => from === node.name),
      style,
      signs,
    ),
  ]
}

function nodeFacts({ kind, role, members, team }: GraphNode): TextSpan[] {
  const facts = [
    ...(kind === 'human' ? ['a person'] : []),
    ...(members ? [`${kind}: ${members.join(', ')}`] : []),
    ...(team === undefined ? [] : [`team ${typeof team === 'string' ? team : team.name}`]),
    ...(role === undefined ? [] : [role]),
  ]
  return facts.length === 0 ? [] : [['dim', `  ${toTerminalLine(facts.join(' · '))}`]]
}

function edgeLines(edges: readonly GraphEdge[], style: TerminalStyle, signs: GraphSymbols): string[] {
  return edges.map(({ to, condition, priority, approve }, index) => {
    const facts = [...(priority > 1 ? [`[${priority}]`] : []), ...(approve ? ['(a person approves)'] : []), condition]
    const said = toTerminalLine(facts.join(' '))
    const sign = index === edges.length - 1 ? signs.lastEdge : signs.edge
    return renderLine(style, [
      '    ',
      ['dim', sign],
      ` ${to}`,
      ...(said === '' ? [] : ([['dim', `  ${said}`]] satisfies TextSpan[])),
    ])
  })
}
