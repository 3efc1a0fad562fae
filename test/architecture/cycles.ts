import type { SourceFile } from '../support/source-file.ts'
import type { Import } from './imports.ts'
import { importsIn } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

type Graph = ReadonlyMap<string, readonly string[]>

/** Cycles among imports that load code, then those that exist only because of type imports. */
export function cycleViolations(files: readonly SourceFile[]): Violation[] {
  const loading = importCycles(files, (edge) => edge.kind !== 'type')
  const seen = new Set(loading.map(String))
  const throughTypes = importCycles(files).filter((cycle) => !seen.has(String(cycle)))
  return [
    ...loading.map((cycle) => violation('cycle', cycle)),
    ...throughTypes.map((cycle) => violation('type-cycle', cycle)),
  ]
}

/** Groups of files that import each other, each sorted; type imports count unless `counts` excludes them. */
export function importCycles(files: readonly SourceFile[], counts: (edge: Import) => boolean = () => true): string[][] {
  const production = files.filter((file) => !isTestFile(file.path))
  const imports = production.flatMap(importsIn).filter(counts)
  return cyclesIn(
    toGraph(
      production.map((file) => file.path),
      imports,
    ),
  )
}

function violation(rule: string, cycle: readonly string[]): Violation {
  const [first = ''] = cycle
  return { rule, path: first, line: 1, message: `import cycle: ${cycle.join(', ')}` }
}

function toGraph(paths: readonly string[], imports: readonly Import[]): Graph {
  const graph = new Map<string, string[]>(paths.map((path) => [path, []]))
  for (const { from, target } of imports) {
    if (target !== undefined && graph.has(target)) graph.get(from)?.push(target)
  }
  return graph
}

/** Strongly connected components (Tarjan's algorithm), each sorted; a file that imports itself is a component of one. */
function cyclesIn(graph: Graph): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const groups: string[][] = []
  const lowestReachable = (path: string) => low.get(path) ?? Number.POSITIVE_INFINITY
  const enter = (path: string): void => {
    order.set(path, order.size)
    low.set(path, order.size - 1)
    open.push(path)
    for (const next of graph.get(path) ?? []) {
      if (!order.has(next)) enter(next)
      if (open.includes(next)) low.set(path, Math.min(lowestReachable(path), lowestReachable(next)))
    }
    if (lowestReachable(path) === order.get(path)) groups.push(open.splice(open.indexOf(path)).sort())
  }
  for (const path of graph.keys()) if (!order.has(path)) enter(path)
  return groups.filter(([first = '', ...rest]) => rest.length > 0 || graph.get(first)?.includes(first))
}
