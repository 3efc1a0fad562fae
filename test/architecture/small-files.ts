import type { SourceFile } from '../support/source-file.ts'
import { importsIn } from './imports.ts'
import { countLines } from './size.ts'
import { isTestFile } from './violation.ts'

export type SmallFile = { path: string; lines: number; importer: string }

export const maxSmallFileLines = 30

/** Small files with a single importer: candidates for inlining. */
export function smallFilesWithOneImporter(files: readonly SourceFile[]): SmallFile[] {
  const production = files.filter((file) => !isTestFile(file.path))
  const importers = Map.groupBy(production.flatMap(importsIn), ({ target }) => target)
  return production.flatMap(({ path, source }) => {
    const [importer, ...others] = new Set(importers.get(path)?.map(({ from }) => from))
    const lines = countLines(source)
    return importer !== undefined && others.length === 0 && lines <= maxSmallFileLines
      ? [{ path, lines, importer }]
      : []
  })
}
