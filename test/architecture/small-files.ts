import type { SourceFile } from '../support/source-file.ts'
import { importsOf } from './imports.ts'
import { linesOf } from './size.ts'
import { isTestFile } from './violation.ts'

export type SmallFile = { path: string; lines: number; importer: string }

export const maxSmallFileLines = 30

/** Small files that a single file imports: candidates to move into it. */
export function smallFilesWithOneImporter(files: readonly SourceFile[]): SmallFile[] {
  const production = files.filter((file) => !isTestFile(file.path))
  const importers = Map.groupBy(production.flatMap(importsOf), ({ target }) => target)
  return production.flatMap(({ path, source }) => {
    const [importer, ...others] = new Set(importers.get(path)?.map(({ from }) => from))
    const lines = linesOf(source)
    return importer !== undefined && others.length === 0 && lines <= maxSmallFileLines
      ? [{ path, lines, importer }]
      : []
  })
}
