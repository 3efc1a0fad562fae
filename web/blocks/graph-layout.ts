import type { PanelEdge, PanelNode } from '../../src/views/panel.ts'

/*
 * Places a small directed graph in layers from left to right.
 * 1. Edges that would close a cycle are drawn backwards; they do not move a node.
 * 2. The order within a layer follows the neighbours in the layer before, so that few edges cross.
 * 3. The same graph always has the same picture.
 */

export interface PlacedNode {
  node: PanelNode
  x: number
  y: number
}

export interface PlacedEdge {
  edge: PanelEdge
  path: string
  /** The lowest point of the line. */
  low: number
  /** Where the count stands. */
  label: { x: number; y: number }
}

export interface GraphLayout {
  nodes: readonly PlacedNode[]
  edges: readonly PlacedEdge[]
  width: number
  height: number
}

export const NODE_WIDTH = 188
export const NODE_HEIGHT = 40
const COLUMN_GAP = 96
const ROW_GAP = 34
const MARGIN = 12

export function layoutGraph(nodes: readonly PanelNode[], edges: readonly PanelEdge[]): GraphLayout {
  const known = new Set(nodes.map(({ id }) => id))
  const drawn = edges.filter(({ from, to }) => known.has(from) && known.has(to))
  const layers = orderLayers(toLayers(nodes, drawn), drawn)
  const placed = placeNodes(layers)
  const tallest = Math.max(1, ...layers.map((layer) => layer.length))
  const lines = drawn.flatMap((edge) => placeEdge(placed, drawn, edge))
  const lowest = Math.max(0, ...lines.map(({ low }) => low))
  const height = MARGIN * 2 + tallest * (NODE_HEIGHT + ROW_GAP) - ROW_GAP
  return {
    nodes: [...placed.values()],
    edges: lines,
    width: MARGIN * 2 + layers.length * NODE_WIDTH + Math.max(layers.length - 1, 0) * COLUMN_GAP,
    height: Math.max(height, Math.ceil(lowest) + MARGIN),
  }
}

/** The longest path from a root decides the layer. A depth-first walk finds the edges that close a cycle: they do not count. */
function toLayers(nodes: readonly PanelNode[], edges: readonly PanelEdge[]): PanelNode[][] {
  const next = Map.groupBy(edges, ({ from }) => from)
  const open = new Set<string>()
  const finished: string[] = []
  const visited = new Set<string>()
  const forward = new Map<string, string[]>()
  const visit = (id: string) => {
    visited.add(id)
    open.add(id)
    const targets = (next.get(id) ?? []).map(({ to }) => to).filter((to) => !open.has(to))
    forward.set(id, targets)
    for (const to of targets) if (!visited.has(to)) visit(to)
    open.delete(id)
    finished.push(id)
  }
  const reached = new Set(edges.filter(({ from, to }) => from !== to).map(({ to }) => to))
  for (const { id } of nodes) if (!reached.has(id)) visit(id)
  for (const { id } of nodes) if (!visited.has(id)) visit(id)
  const layer = new Map<string, number>()
  for (const id of finished.reverse()) {
    const depth = layer.get(id) ?? 0
    layer.set(id, depth)
    for (const to of forward.get(id) ?? []) layer.set(to, Math.max(layer.get(to) ?? 0, depth + 1))
  }
  const byLayer = Map.groupBy(nodes, ({ id }) => layer.get(id) ?? 0)
  return Array.from({ length: byLayer.size }, (_, index) => byLayer.get(index) ?? [])
}

function orderLayers(layers: PanelNode[][], edges: readonly PanelEdge[]): PanelNode[][] {
  const position = new Map<string, number>()
  for (const layer of layers) {
    const weight = (node: PanelNode, index: number) => {
      const from = edges.filter(({ to }) => to === node.id).flatMap((edge) => position.get(edge.from) ?? [])
      return from.length ? from.reduce((sum, value) => sum + value, 0) / from.length : index
    }
    const weights = new Map(layer.map((node, index) => [node.id, weight(node, index)]))
    layer.sort((a, b) => (weights.get(a.id) ?? 0) - (weights.get(b.id) ?? 0))
    for (const [index, { id }] of layer.entries()) position.set(id, index)
  }
  return layers
}

function placeNodes(layers: readonly PanelNode[][]): Map<string, PlacedNode> {
  const tallest = Math.max(1, ...layers.map((layer) => layer.length))
  const placed = new Map<string, PlacedNode>()
  for (const [column, layer] of layers.entries()) {
    const offset = ((tallest - layer.length) * (NODE_HEIGHT + ROW_GAP)) / 2
    for (const [row, node] of layer.entries()) {
      const x = MARGIN + column * (NODE_WIDTH + COLUMN_GAP)
      const y = MARGIN + offset + row * (NODE_HEIGHT + ROW_GAP)
      placed.set(node.id, { node, x, y })
    }
  }
  return placed
}

function isBackward(placed: ReadonlyMap<string, PlacedNode>, { from, to }: PanelEdge): boolean {
  return (placed.get(from)?.x ?? 0) >= (placed.get(to)?.x ?? 0)
}

function placeEdge(
  placed: ReadonlyMap<string, PlacedNode>,
  edges: readonly PanelEdge[],
  edge: PanelEdge,
): PlacedEdge[] {
  const from = placed.get(edge.from)
  const to = placed.get(edge.to)
  if (!from || !to) return []
  if (isBackward(placed, edge)) return [backwardEdge(edge, { from, to, placed })]
  const twin = edges.some((other) => other.from === edge.to && other.to === edge.from)
  const shift = twin ? -6 : 0
  const start = { x: from.x + NODE_WIDTH, y: from.y + NODE_HEIGHT / 2 + shift }
  const end = { x: to.x, y: to.y + NODE_HEIGHT / 2 + shift }
  const middle = (start.x + end.x) / 2
  const path = `M${start.x},${start.y} C${middle},${start.y} ${middle},${end.y} ${end.x},${end.y}`
  return [{ edge, path, low: Math.max(start.y, end.y), label: { x: middle, y: (start.y + end.y) / 2 } }]
}

interface EdgeEnds {
  from: PlacedNode
  to: PlacedNode
  placed: ReadonlyMap<string, PlacedNode>
}

/** An edge to an earlier layer runs in the gaps between layers, and below all nodes that stand between them: never behind a node. */
function backwardEdge(edge: PanelEdge, { from, to, placed }: EdgeEnds): PlacedEdge {
  if (from.x === to.x) return edgeInLayer(edge, from, to)
  const start = { x: from.x, y: from.y + NODE_HEIGHT / 2 + 8 }
  const end = { x: to.x + NODE_WIDTH, y: to.y + NODE_HEIGHT / 2 + 8 }
  const isNext = start.x - end.x <= COLUMN_GAP
  if (isNext) {
    const middle = (start.x + end.x) / 2
    const path = `M${start.x},${start.y} C${middle},${start.y} ${middle},${end.y} ${end.x},${end.y}`
    return { edge, path, low: Math.max(start.y, end.y), label: { x: middle, y: (start.y + end.y) / 2 } }
  }
  const between = [...placed.values()].filter(({ x }) => x > to.x && x < from.x)
  const low = Math.max(start.y, end.y, ...between.map(({ y }) => y + NODE_HEIGHT)) + ROW_GAP / 2
  const [right, left] = [start.x - COLUMN_GAP / 3, end.x + COLUMN_GAP / 3]
  const path = `M${start.x},${start.y} C${right},${start.y} ${right},${low} ${right - 16},${low} L${left + 16},${low} C${left},${low} ${left},${end.y} ${end.x},${end.y}`
  return { edge, path, low, label: { x: (right + left) / 2, y: low } }
}

/** From a node to itself or to another of its layer: a bow at the right. */
function edgeInLayer(edge: PanelEdge, from: PlacedNode, to: PlacedNode): PlacedEdge {
  const x = from.x + NODE_WIDTH
  const start = from.y + NODE_HEIGHT / 2 - (from === to ? 10 : 0)
  const end = to.y + NODE_HEIGHT / 2 + (from === to ? 10 : 0)
  const bow = x + COLUMN_GAP / 2.5
  const path = `M${x},${start} C${bow},${start} ${bow},${end} ${x},${end}`
  return { edge, path, low: Math.max(start, end), label: { x: x + COLUMN_GAP / 3.4, y: (start + end) / 2 } }
}
