import type { SourceFile } from '../support/source-file.ts'
import type { Import } from './imports.ts'
import { importsIn } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

const heavy =
  /^(node:sqlite|commander|yaml|ai|@ai-sdk\/.*|pg|pg-boss|hono|@hono\/.*|@modelcontextprotocol\/.*|htmlparser2|vitest)(\/|$)/
/** Kernel and patterns use zod, but the entry point must not load it. */
const heavyForEntryPoint = /^zod(\/|$)/

// A static import anywhere below index.ts slows the start-up of every program that imports troupe.
export function heavyImportViolations(files: readonly SourceFile[]): Violation[] {
  const staticImports = new Map<string, Import[]>()
  for (const file of files)
    staticImports.set(
      file.path,
      importsIn(file).filter((edge) => edge.kind === 'static'),
    )
  const chains = reachableFrom('src/index.ts', staticImports)
  const fromEntryPoint = new Set(chains.keys())
  for (const { path } of files) {
    if (/^src\/(kernel|judgement|requests|patterns)\//.test(path) && !isTestFile(path) && !chains.has(path))
      chains.set(path, path)
  }
  return [...chains].flatMap(([path, chain]) =>
    (staticImports.get(path) ?? [])
      .filter(
        ({ specifier }) => heavy.test(specifier) || (fromEntryPoint.has(path) && heavyForEntryPoint.test(specifier)),
      )
      .map(({ line, specifier }) => ({
        rule: 'heavy-import',
        path,
        line,
        message: `loads ${specifier} at start-up (${chain}); use a dynamic import()`,
      })),
  )
}

function reachableFrom(entry: string, staticImports: ReadonlyMap<string, readonly Import[]>): Map<string, string> {
  const chains = new Map<string, string>()
  const queue: [path: string, chain: string][] = staticImports.has(entry) ? [[entry, entry]] : []
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [path, chain] = next
    if (chains.has(path)) continue
    chains.set(path, chain)
    for (const { target } of staticImports.get(path) ?? []) {
      if (target !== undefined && staticImports.has(target)) queue.push([target, `${chain} → ${target}`])
    }
  }
  return chains
}
