import type { SourceFile } from '../support/source-file.ts'
import { identifierName, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import type { Violation } from './violation.ts'

export function exportViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => [...unnamedExports(file), ...(isEntryPoint(file.path) ? entryPointCode(file) : [])])
}

function isEntryPoint(path: string): boolean {
  return (
    ['src/index.ts', 'src/surfaces/http/index.ts', 'src/testing/index.ts'].includes(path) ||
    path.startsWith('src/entries/')
  )
}

function unnamedExports(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walkTree(parseSource(file), (node) => {
    const line = lineNumberAt(file.source, node.start)
    const exportedAsDefault = node.type === 'ExportSpecifier' && identifierName(node.exported) === 'default'
    if (node.type === 'ExportDefaultDeclaration' || node.type === 'TSExportAssignment' || exportedAsDefault) {
      found.push({ rule: 'default-export', path: file.path, line, message: 'uses a default export; export by name' })
    }
    if (node.type === 'ExportAllDeclaration') {
      found.push({ rule: 'export-all', path: file.path, line, message: 'uses export *; list the names' })
    }
  })
  return found
}

function entryPointCode(file: SourceFile): Violation[] {
  return parseSource(file)
    .body.filter((statement) => !(statement.type === 'ExportNamedDeclaration' && statement.source))
    .filter((statement) => statement.type !== 'ExportAllDeclaration')
    .map((statement) => ({
      rule: 'entry',
      path: file.path,
      line: lineNumberAt(file.source, statement.start),
      message: 'contains code; an entry point may only re-export names',
    }))
}
