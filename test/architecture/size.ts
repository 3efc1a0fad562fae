import type { SourceFile } from '../support/source-file.ts'
import { functionsIn } from './functions.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

export const limits = { fileWarns: 250, fileFails: 400, functionWarns: 60 } as const

export function sizeViolations(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => !isTestFile(file.path) && countLines(file.source) > limits.fileFails)
    .map(({ path, source }) => {
      const message = `has ${countLines(source)} lines, more than ${limits.fileFails}`
      return { rule: 'size', path, line: 1, message }
    })
}

/** A line with the totals, then one line per file and function above the recommended size, the longest first. */
export function sizeReport(files: readonly SourceFile[]): string[] {
  const lengths = files.map(({ source }) => countLines(source)).sort((a, b) => a - b)
  const median = percentile(lengths, 0.5)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const totals = `${files.length} files, ${total} lines, median ${median}, longest ${lengths.at(-1) ?? 0}`
  const long = [
    ...files.filter((file) => countLines(file.source) > limits.fileWarns).map(fileLength),
    ...files.flatMap(longFunctions),
  ]
  return [totals, ...long.sort((a, b) => b.lines - a.lines).map(({ lines, name }) => `${lines} lines: ${name}`)]
}

function fileLength({ path, source }: SourceFile): { lines: number; name: string } {
  return { lines: countLines(source), name: path }
}

function longFunctions(file: SourceFile): { lines: number; name: string }[] {
  if (isTestFile(file.path)) return []
  return functionsIn(file)
    .filter(({ hasBody, lines }) => hasBody && lines > limits.functionWarns)
    .map(({ name, path, line, lines }) => ({ lines, name: `${name ?? 'a function'} in ${path}:${line}` }))
}

/** `sorted` ascends; `share` is 0.5 for the median. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

export function countLines(source: string): number {
  return source.split('\n').length - (source.endsWith('\n') ? 1 : 0)
}
