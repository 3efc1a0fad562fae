// Prints structural figures of a source tree: `npm run -s figures -- [ROOT] [--compare OTHER_ROOT] [--verbose]`.
// With --compare, OTHER_ROOT is the column "before" and ROOT the column "after". --verbose lists the counted locations of ROOT.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readSource, readSources, repositoryRoot } from '../support/source-file.ts'
import type { Figure, Tree } from './measurements.ts'
import { measure } from './measurements.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { compare: { type: 'string' }, verbose: { type: 'boolean', default: false } },
})

const after = measure(readTree(resolve(positionals[0] ?? repositoryRoot)))
const before = values.compare === undefined ? undefined : measure(readTree(resolve(values.compare)))
const table = before ? formatComparison(before, after) : formatTable(after.map(({ title, value }) => [title, value]))
console.log([...table, ...(values.verbose ? formatLists(after) : [])].join('\n'))

function readTree(tree: string): Tree {
  const folderSpecs = readSources('src', '/SPEC.md', tree)
  const specs = existsSync(join(tree, 'SPEC.md')) ? [{ path: 'SPEC.md', source: readSource('SPEC.md', tree) }] : []
  return { sources: readSources('src', '.ts', tree), specs: [...specs, ...folderSpecs] }
}

function formatComparison(before: readonly Figure[], after: readonly Figure[]): string[] {
  const rows = after.map(({ title, value }, row) => [title, before[row]?.value ?? '', value])
  return formatTable([['', 'before', 'after'], ...rows])
}

function formatTable(rows: readonly string[][]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function formatLists(figures: readonly Figure[]): string[] {
  return figures
    .filter(({ items }) => items.length > 0)
    .flatMap(({ title, items }) => ['', `${title}: ${items.length}`, ...items.map((item) => `  ${item}`)])
}
