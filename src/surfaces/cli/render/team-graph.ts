import type { GraphEdge, GraphNode, TeamGraph } from '../../../judgement/team/graph.ts'
import { inOrderOfWork } from '../../../judgement/team/graph.ts'
import type { Look, Span } from './line.ts'
import { line } from './line.ts'
import { oneLine } from './width.ts'

/*
 * A team on a terminal: everyone once, in the order in which work reaches them, with the ways that lead on. Unlike a
 * drawing with boxes it fits any width and any number of agents.
 */

export interface Signs {
  begins: string
  way: string
  last: string
  cut: string
}

export const DRAWN: Signs = { begins: '▸', way: '├─▶', last: '└─▶', cut: '…' }
export const ASCII: Signs = { begins: '>', way: '|->', last: '`->', cut: '~' }

const INDENT = 4
const NARROWEST = 16

const AFTER_WORK = {
  return_to_user: 'otherwise back to the user',
  terminate: 'otherwise the work is done',
  continue: 'otherwise whoever worked goes on',
} as const

export function graphLines(graph: TeamGraph, look: Look, signs: Signs): string[] {
  const head = line(look, [['bold', oneLine(graph.name)]])
  return [head, ...bodyLines(graph, look, signs)].map((text) => text.replaceAll('…', signs.cut))
}

function bodyLines(graph: TeamGraph, look: Look, signs: Signs): string[] {
  const special = (name: string, title: string) => {
    const edges = graph.edges.filter(({ from }) => from === name)
    return edges.length === 0 ? [] : [line(look, ['  ', ['bold', title]]), ...edgeLines(edges, look, signs)]
  }
  const inGroups = new Set(graph.nodes.flatMap(({ members }) => members ?? []))
  const outside = inOrderOfWork(graph).filter(({ name }) => !inGroups.has(name))
  const drawn = new Set<string>()
  return [
    ...special('user', 'user'),
    ...outside.flatMap((node) => nodeLines(node, { graph, look, signs, drawn })),
    ...special('any_agent', 'any agent'),
    line(look, ['  ', ['dim', AFTER_WORK[graph.after_work]]]),
  ]
}

interface Drawing {
  graph: TeamGraph
  look: Look
  signs: Signs
  /** Members that were shown in a group: each is shown once. */
  drawn: Set<string>
}

function nodeLines(node: GraphNode, drawing: Drawing): string[] {
  const { graph, look, signs, drawn } = drawing
  const inner: Look = { width: Math.max(NARROWEST, look.width - INDENT), paint: look.paint }
  const members = graph.nodes.filter(({ name }) => node.members?.includes(name) && !drawn.has(name))
  for (const { name } of members) drawn.add(name)
  const inside = [
    ...members.flatMap((member) => nodeLines(member, { ...drawing, look: inner })),
    ...(typeof node.team === 'object' ? bodyLines(node.team, inner, signs) : []),
  ]
  return [
    line(look, [node.name === graph.entry ? `${signs.begins} ` : '  ', ['bold', node.name], ...aboutNode(node)]),
    ...inside.map((text) => ' '.repeat(INDENT) + text),
    ...edgeLines(
      graph.edges.filter(({ from }) => from === node.name),
      look,
      signs,
    ),
  ]
}

function aboutNode({ kind, role, members, team }: GraphNode): Span[] {
  const facts = [
    ...(kind === 'human' ? ['a person'] : []),
    ...(members ? [`${kind}: ${members.join(', ')}`] : []),
    ...(team === undefined ? [] : [`team ${typeof team === 'string' ? team : team.name}`]),
    ...(role === undefined ? [] : [role]),
  ]
  return facts.length === 0 ? [] : [['dim', `  ${oneLine(facts.join(' · '))}`]]
}

function edgeLines(edges: readonly GraphEdge[], look: Look, signs: Signs): string[] {
  return edges.map(({ to, condition, priority, approve }, index) => {
    const facts = [...(priority > 1 ? [`[${priority}]`] : []), ...(approve ? ['(a person approves)'] : []), condition]
    const said = oneLine(facts.join(' '))
    const sign = index === edges.length - 1 ? signs.last : signs.way
    return line(look, [
      '    ',
      ['dim', sign],
      ` ${to}`,
      ...(said === '' ? [] : ([['dim', `  ${said}`]] satisfies Span[])),
    ])
  })
}
