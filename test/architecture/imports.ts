import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'

export type ImportKind = 'static' | 'dynamic' | 'type'

export type Import = { from: string; specifier: string; target: string | undefined; kind: ImportKind; line: number }

// `import { type X } from` still loads the file at run time (verbatimModuleSyntax): only `import type` is free.
export function importsIn(file: SourceFile): Import[] {
  const found: Import[] = []
  const add = (node: Node, request: unknown, kind: ImportKind) => {
    const specifier = identifierName(request)
    if (specifier === undefined) return
    const target = resolveRelative(file.path, specifier)
    found.push({ from: file.path, specifier, target, kind, line: lineNumberAt(file.source, node.start) })
  }
  walkTree(parseSource(file), (node) => {
    if (node.type === 'ImportDeclaration') add(node, node.source, node.importKind === 'type' ? 'type' : 'static')
    if (node.type === 'ExportNamedDeclaration' || node.type === 'ExportAllDeclaration') {
      add(node, node.source, node.exportKind === 'type' ? 'type' : 'static')
    }
    if (node.type === 'ImportExpression') add(node, node.source, 'dynamic')
    if (node.type === 'TSImportType') add(node, node.source ?? node.argument, 'type')
  })
  return found
}

function resolveRelative(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const parts = from.split('/').slice(0, -1)
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}
