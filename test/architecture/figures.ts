// Prints structural figures of a source tree: `npm run -s figures -- [ROOT] [--compare OTHER_ROOT] [--verbose]`.
// The first ones may only fall: beside them stands the committed value. --lower writes lower ones into figures.json, --raise NNNN higher ones that the
// decision record states. With --compare, OTHER_ROOT is the column "before" and ROOT the column "after". --verbose lists the counted locations of ROOT.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readSource, readSources, repositoryRoot } from '../support/source-file.ts'
import type { Figure, Tree } from './measurements.ts'
import { measure } from './measurements.ts'
import {
  FIGURES_FILE,
  findRises,
  lower,
  RatchetError,
  raise,
  readCommitted,
  totalOf,
  writeCommitted,
} from './ratchet.ts'
import type { RatchetFigures } from './ratchet-figures.ts'
import { measureRatchets } from './ratchet-figures.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    compare: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    lower: { type: 'boolean', default: false },
    raise: { type: 'string' },
  },
})
const root = resolve(positionals[0] ?? repositoryRoot)

try {
  if (values.lower || values.raise !== undefined) updateCommitted(values.raise)
  else printFigures()
} catch (thrown) {
  if (!(thrown instanceof RatchetError)) throw thrown
  console.error(thrown.message)
  process.exitCode = 1
}

function updateCommitted(decision: string | undefined): void {
  const committed = readCommitted(root)
  const measured = measureRatchets(root)
  const updated = lower(decision === undefined ? committed : raise(root, committed, decision), measured)
  writeCommitted(root, updated)
  const rises = findRises(updated, measured)
  if (rises.length > 0) throw new RatchetError(rises.join('\n'))
}

function printFigures(): void {
  const ratchets = measureRatchets(root)
  const after = measure(readTree(root))
  if (values.compare === undefined) {
    const committed = existsSync(join(root, FIGURES_FILE)) ? readCommitted(root) : {}
    const rows = Object.entries(ratchets).map(([title, places]) => [
      title,
      String(totalOf(places)),
      String(committed[title]?.value ?? 'none'),
    ])
    console.log(formatTable([['', 'now', 'committed'], ...rows]).join('\n'), '\n')
    console.log(formatTable(after.map(({ title, value }) => [title, value])).join('\n'))
  } else {
    const other = resolve(values.compare)
    const before = [...toFigures(measureRatchets(other)), ...measure(readTree(other))]
    console.log(formatComparison(before, [...toFigures(ratchets), ...after]).join('\n'))
  }
  if (values.verbose) console.log(formatLists([...toFigures(ratchets), ...after]).join('\n'))
}

function toFigures(ratchets: RatchetFigures): Figure[] {
  return Object.entries(ratchets).map(([title, places]) => ({
    title,
    value: String(totalOf(places)),
    items: Object.entries(places).map(([place, found]) => `${place}: ${found}`),
  }))
}

function readTree(tree: string): Tree {
  const folderSpecs = readSources('src', '/SPEC.md', tree)
  const specs = existsSync(join(tree, 'SPEC.md')) ? [{ path: 'SPEC.md', source: readSource('SPEC.md', tree) }] : []
  return { sources: readSources('src', '.ts', tree), specs: [...specs, ...folderSpecs] }
}

function formatComparison(before: readonly Figure[], after: readonly Figure[]): string[] {
  const rows = after.map(({ title, value }) => [title, before.find((each) => each.title === title)?.value ?? '', value])
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
