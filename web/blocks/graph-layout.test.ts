import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { layoutGraph, NODE_HEIGHT, NODE_WIDTH } from './graph-layout.ts'

const node = (id: string) => ({ id, label: id })

describe('graph layout', () => {
  test('WR3 a chain goes from left to right, and an edge back does not move a node', () => {
    const nodes = ['a', 'b', 'c'].map(node)
    const edges = [
      { from: 'a', to: 'b' },
      { from: 'b', to: 'c' },
      { from: 'c', to: 'a' },
    ]
    const { nodes: placed, edges: lines } = layoutGraph(nodes, edges)
    const xs = placed.map(({ x }) => x)
    expect(xs).toEqual(xs.toSorted((a, b) => a - b))
    expect(new Set(xs).size).toBe(3)
    expect(lines).toHaveLength(3)
  })

  test('WR3 nodes never overlap, stay in the picture, and the same graph has the same layout', () => {
    const graph = fc.record({
      size: fc.integer({ min: 1, max: 14 }),
      pairs: fc.array(fc.tuple(fc.nat(13), fc.nat(13)), { maxLength: 60 }),
    })
    fc.assert(
      fc.property(graph, ({ size, pairs }) => {
        const nodes = Array.from({ length: size }, (_, index) => node(`n${index}`))
        const edges = pairs.map(([from, to]) => ({ from: `n${from}`, to: `n${to}`, count: 1 }))
        const layout = layoutGraph(nodes, edges)
        expect(layout.nodes).toHaveLength(size)
        expect(new Set(layout.nodes.map(({ x, y }) => `${x},${y}`)).size).toBe(size)
        for (const { x, y } of layout.nodes) {
          expect(x + NODE_WIDTH).toBeLessThanOrEqual(layout.width)
          expect(y + NODE_HEIGHT).toBeLessThanOrEqual(layout.height)
        }
        expect(layoutGraph(nodes, edges)).toEqual(layout)
      }),
    )
  })

  test('a dense graph is placed without walking every path', () => {
    const nodes = Array.from({ length: 40 }, (_, index) => node(`n${index}`))
    const edges = nodes.flatMap((a) => nodes.map((b) => ({ from: a.id, to: b.id })))
    expect(layoutGraph(nodes, edges).nodes).toHaveLength(40)
  })
})
