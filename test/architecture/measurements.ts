import { specRules } from '../spec/rules.ts'
import type { SourceFile } from '../support/source-file.ts'
import { lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import type { CommentText } from './comments.ts'
import { beginsWithClause, beginsWithQuestionWord, commentTexts } from './comments.ts'
import { importCycles } from './cycles.ts'
import type { Duplicate } from './duplicates.ts'
import { duplicateExports } from './duplicates.ts'
import { functionsIn } from './functions.ts'
import { functionsWithManyParameters, maxParameters } from './parameters.ts'
import { participleFunctions } from './participles.ts'
import { countLines, percentile } from './size.ts'
import { siteTypes } from './type-names.ts'
import { isTestFile } from './violation.ts'
import { maxMembers, wideInterfaces } from './wide-interfaces.ts'

/** `sources` are the files below src, `specs` every SPEC.md. */
export type Tree = { sources: readonly SourceFile[]; specs: readonly SourceFile[] }

/** `items` lists the locations that were counted. */
export type Figure = { title: string; value: string; items: readonly string[] }

/**
 * Test files are never counted. src/testing is excluded from the sizes of files and functions, because contract suites
 * are long lists of tests.
 */
export function measure({ sources, specs }: Tree): Figure[] {
  const files = sources.filter(({ path }) => !isTestFile(path))
  const core = files.filter(({ path }) => !path.startsWith('src/testing/'))
  return [
    ...measureFiles(core),
    measureFunctions(core),
    measureCycles(files),
    measureAny(files),
    measureKernel(files),
    measureFolders(files),
    ...measureNames(files),
    ...measureShapes(files),
    ...measureComments(files),
    figure('rules in SPEC.md files', specs.flatMap(specRules).length),
  ]
}

function figure(title: string, value: string | number, items: readonly string[] = []): Figure {
  return { title, value: String(value), items }
}

function count(title: string, items: readonly string[]): Figure {
  return figure(title, items.length, items)
}

function measureFiles(files: readonly SourceFile[]): Figure[] {
  const lengths = files.map(({ source }) => countLines(source)).sort((a, b) => a - b)
  return [
    figure('files (without src/testing)', files.length),
    figure('lines (without src/testing)', sum(lengths)),
    figure('lines per file, median / p95 / max', spread(lengths, [0.5, 0.95])),
  ]
}

function measureFunctions(files: readonly SourceFile[]): Figure {
  const withBody = files.flatMap(functionsIn).filter(({ hasBody }) => hasBody)
  const lengths = withBody.map(({ lines }) => lines).sort((a, b) => a - b)
  return figure('lines per function, p95 / max', spread(lengths, [0.95]))
}

function measureCycles(files: readonly SourceFile[]): Figure {
  const cycles = importCycles(files)
  const largest = Math.max(0, ...cycles.map((cycle) => cycle.length))
  return figure(
    'files in the largest import cycle',
    largest,
    cycles.map((cycle) => cycle.join(', ')),
  )
}

function measureAny(files: readonly SourceFile[]): Figure {
  const found: string[] = []
  for (const file of files) {
    walkTree(parseSource(file), (node) => {
      if (node.type === 'TSAnyKeyword') found.push(`${file.path}:${lineNumberAt(file.source, node.start)}`)
    })
  }
  return count('uses of any', found)
}

function measureKernel(files: readonly SourceFile[]): Figure {
  const kernel = files.filter(({ path }) => path.startsWith('src/kernel/'))
  return figure(
    'src/kernel, lines / files',
    `${sum(kernel.map(({ source }) => countLines(source)))} / ${kernel.length}`,
  )
}

function measureFolders(files: readonly SourceFile[]): Figure {
  const folders = [...Map.groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf('/')))]
  const [largest] = folders.sort(([, a], [, b]) => b.length - a.length)
  return figure('most files in one folder', largest ? `${largest[1].length} (${largest[0]})` : 0)
}

function measureNames(files: readonly SourceFile[]): Figure[] {
  return [
    count('async functions named by a participle', participleFunctions(files).map(describeLocation)),
    count('exported names declared in several files', duplicateExports(files).map(describeDuplicate)),
    count('types named …Site', siteTypes(files).map(describeLocation)),
  ]
}

function measureShapes(files: readonly SourceFile[]): Figure[] {
  return [
    count(
      `functions with more than ${maxParameters} positional parameters`,
      functionsWithManyParameters(files).map((shape) => `${shape.parameters} ${describeLocation(shape)}`),
    ),
    count(
      `interfaces with more than ${maxMembers} members`,
      wideInterfaces(files).map((type) => `${type.members} ${describeLocation(type)}`),
    ),
  ]
}

function measureComments(files: readonly SourceFile[]): Figure[] {
  const comments = files.flatMap(commentTexts)
  const share = (found: readonly CommentText[]) =>
    `${Math.round((100 * found.length) / Math.max(1, comments.length))} % (${found.length} of ${comments.length})`
  return [
    figure('comments that begin with What, Who, Those, Nobody', share(comments.filter(beginsWithClause))),
    figure('comments that begin with these or How, Where, Whether …', share(comments.filter(beginsWithQuestionWord))),
  ]
}

function describeLocation({ name, path, line }: { name: string | undefined; path: string; line: number }): string {
  return `${name ?? '(anonymous)'} ${path}:${line}`
}

function describeDuplicate({ name, paths }: Duplicate): string {
  return `${name}: ${paths.join(', ')}`
}

function spread(sorted: readonly number[], shares: readonly number[]): string {
  return [...shares.map((share) => percentile(sorted, share)), sorted.at(-1) ?? 0].join(' / ')
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
