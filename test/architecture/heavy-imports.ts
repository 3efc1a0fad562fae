import type { SourceFile } from '../support/source-file.ts'
import type { Import } from './imports.ts'
import { importsOf } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

const heavy =
  /^(node:sqlite|commander|yaml|ai|@ai-sdk\/.*|pg|pg-boss|hono|@hono\/.*|@modelcontextprotocol\/.*|vitest)(\/|$)/
/** Kernel and patterns are made of it; the package's entry must not be. */
const heavyForTheEntry = /^zod(\/|$)/

// One static import anywhere below index.ts makes every program that imports the core pay for it at start-up.
export function heavyImportViolations(files: readonly SourceFile[]): Violation[] {
  const loads = new Map<string, Import[]>()
  for (const file of files)
    loads.set(
      file.path,
      importsOf(file).filter((edge) => edge.kind === 'static'),
    )
  const why = reachable('src/index.ts', loads)
  const fromEntry = new Set(why.keys())
  for (const { path } of files) {
    if (/^src\/(kernel|judgement|patterns)\//.test(path) && !isTestFile(path) && !why.has(path)) why.set(path, path)
  }
  return [...why].flatMap(([path, chain]) =>
    (loads.get(path) ?? [])
      .filter(({ specifier }) => heavy.test(specifier) || (fromEntry.has(path) && heavyForTheEntry.test(specifier)))
      .map(({ line, specifier }) => ({
        rule: 'heavy-import',
        path,
        line,
        message: `loads ${specifier} with the core (${chain}); use import() where it is needed`,
      })),
  )
}

function reachable(entry: string, loads: ReadonlyMap<string, readonly Import[]>): Map<string, string> {
  const chains = new Map<string, string>()
  const waiting: [path: string, chain: string][] = loads.has(entry) ? [[entry, entry]] : []
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [path, chain] = next
    if (chains.has(path)) continue
    chains.set(path, chain)
    for (const { target } of loads.get(path) ?? []) {
      if (target !== undefined && loads.has(target)) waiting.push([target, `${chain} → ${target}`])
    }
  }
  return chains
}
