import type { SourceFile } from '../source-file.ts'
import { lineAt, nameOf, parse, walk } from '../syntax.ts'
import type { Violation } from './violation.ts'

export function exportViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => [...unnamedExports(file), ...(isEntry(file.path) ? entryCode(file) : [])])
}

function isEntry(path: string): boolean {
  return path === 'src/index.ts' || path === 'src/testing/index.ts'
}

function unnamedExports(file: SourceFile): Violation[] {
  const found: Violation[] = []
  walk(parse(file), (node) => {
    const line = lineAt(file.source, node.start)
    const exportedAsDefault = node.type === 'ExportSpecifier' && nameOf(node.exported) === 'default'
    if (node.type === 'ExportDefaultDeclaration' || node.type === 'TSExportAssignment' || exportedAsDefault) {
      found.push({ rule: 'default-export', path: file.path, line, message: 'exports a default; export a name' })
    }
    if (node.type === 'ExportAllDeclaration') {
      found.push({ rule: 'export-all', path: file.path, line, message: 'exports *; list the names' })
    }
  })
  return found
}

function entryCode(file: SourceFile): Violation[] {
  return parse(file)
    .body.filter((statement) => !(statement.type === 'ExportNamedDeclaration' && statement.source))
    .filter((statement) => statement.type !== 'ExportAllDeclaration')
    .map((statement) => ({
      rule: 'entry',
      path: file.path,
      line: lineAt(file.source, statement.start),
      message: 'holds code; an entry only re-exports names',
    }))
}
