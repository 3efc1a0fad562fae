import { declarations } from '../public-surface/surface.ts'
import type { SourceFile } from '../support/source-file.ts'
import { identifierName, isNode, parseSource } from '../support/syntax-tree.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

export type Duplicate = { name: string; paths: readonly string[] }

/** Exported names that more than one file declares. A search for such a name finds unrelated things. */
export function duplicateExports(files: readonly SourceFile[]): Duplicate[] {
  const production = files.filter((file) => !isTestFile(file.path))
  return duplicatesAmong(
    production.flatMap((file) => declaredExports(file).map((name): [string, string] => [name, file.path])),
  )
}

/** Base names that files in several folders share. An `index.ts` is named by its folder. */
export function duplicateFileNames(files: readonly SourceFile[]): Duplicate[] {
  const named = files
    .filter(({ path }) => !isTestFile(path))
    .map(({ path }): [string, string] => [path.slice(path.lastIndexOf('/') + 1), path])
  return duplicatesAmong(named.filter(([name]) => name !== 'index.ts'))
}

export function duplicateExportViolations(files: readonly SourceFile[]): Violation[] {
  return duplicateExports(files).map(({ name, paths: [path = '', ...others] }) => ({
    rule: 'duplicate-export',
    path,
    line: 1,
    message: `exports ${name}, and so does ${others.join(', ')}; use distinct names`,
  }))
}

/** Names that a file both declares and exports; re-exports belong to another file. */
function declaredExports(file: SourceFile): string[] {
  const { body } = parseSource(file)
  const declared = new Set(body.flatMap(declarations).map(([name]) => name))
  const exported = body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration' || isNode(statement.source)) return []
    const listed = statement.specifiers.filter(({ local }) => declared.has(identifierName(local) ?? ''))
    return [
      ...declarations(statement).map(([name]) => name),
      ...listed.map(({ exported }) => identifierName(exported) ?? ''),
    ]
  })
  return [...new Set(exported)].filter((name) => name !== '')
}

function duplicatesAmong(named: readonly [name: string, path: string][]): Duplicate[] {
  return [...Map.groupBy(named, ([name]) => name)]
    .map(([name, places]) => ({ name, paths: places.map(([, path]) => path) }))
    .filter(({ paths }) => paths.length > 1)
    .sort((a, b) => a.name.localeCompare(b.name, 'en'))
}
