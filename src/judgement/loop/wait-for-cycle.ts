/** One agent waits for another: for its answer, or for the work that it delegated. */
export interface WaitForEdge {
  from: string
  to: string
  /** The consultation that is waited for; none for delegated work. */
  id?: string
}

/**
 * The cycle that one more edge would close in a wait-for graph, as the edges from `to` back to `from`; `undefined` if there is none.
 * Breadth-first: the shortest cycle, in time linear in the number of edges.
 */
export function findWaitForCycle(
  edges: readonly WaitForEdge[],
  { from, to }: Pick<WaitForEdge, 'from' | 'to'>,
): WaitForEdge[] | undefined {
  if (from === to) return []
  const outgoing = Map.groupBy(edges, (edge) => edge.from)
  const reachedBy = new Map<string, WaitForEdge>()
  const queue = [to]
  for (let index = 0; index < queue.length; index++) {
    for (const edge of outgoing.get(queue[index] ?? '') ?? []) {
      if (edge.to === to || reachedBy.has(edge.to)) continue
      reachedBy.set(edge.to, edge)
      if (edge.to === from) return pathTo(from, to, reachedBy)
      queue.push(edge.to)
    }
  }
  return undefined
}

function pathTo(end: string, start: string, reachedBy: ReadonlyMap<string, WaitForEdge>): WaitForEdge[] {
  const path: WaitForEdge[] = []
  for (let name = end; name !== start; ) {
    const edge = reachedBy.get(name)
    if (!edge) break
    path.unshift(edge)
    name = edge.from
  }
  return path
}
