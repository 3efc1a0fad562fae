import type { SourceFile } from '../source-file.ts'
import { lineAt, nameOf, parse, walk } from '../syntax.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

export const limits = { fileWarns: 250, fileFails: 400, functionWarns: 60 } as const

export function sizeViolations(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => !isTestFile(file.path) && linesOf(file.source) > limits.fileFails)
    .map(({ path, source }) => {
      const message = `has ${linesOf(source)} lines, more than ${limits.fileFails}`
      return { rule: 'size', path, line: 1, message }
    })
}

/** One line for each file and function above the size we aim at, the longest first, after a line with the totals. */
export function sizeReport(files: readonly SourceFile[]): string[] {
  const lengths = files.map(({ source }) => linesOf(source)).sort((a, b) => a - b)
  const median = lengths[Math.floor(lengths.length / 2)] ?? 0
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const totals = `${files.length} files, ${total} lines, median ${median}, longest ${lengths.at(-1) ?? 0}`
  const long = [
    ...files.filter((file) => linesOf(file.source) > limits.fileWarns).map(fileLength),
    ...files.flatMap(longFunctions),
  ]
  return [totals, ...long.sort((a, b) => b.lines - a.lines).map(({ lines, what }) => `${lines} lines: ${what}`)]
}

function fileLength({ path, source }: SourceFile): { lines: number; what: string } {
  return { lines: linesOf(source), what: path }
}

function longFunctions(file: SourceFile): { lines: number; what: string }[] {
  if (isTestFile(file.path)) return []
  const found: { lines: number; what: string }[] = []
  walk(parse(file), (node, { parent }) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return
    const [first, last] = [lineAt(file.source, node.start), lineAt(file.source, node.end)]
    const lines = last - first + 1
    const name = nameOf(node.id) ?? nameOf(parent?.id) ?? nameOf(parent?.key) ?? 'a function'
    if (lines > limits.functionWarns) found.push({ lines, what: `${name} in ${file.path}:${first}` })
  })
  return found
}

function linesOf(source: string): number {
  return source.split('\n').length - (source.endsWith('\n') ? 1 : 0)
}
