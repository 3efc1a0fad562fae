import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'

/** `members` counts the declaration's own members, without inherited members or those of other named types. */
export type TypeDeclaration = { name: string; path: string; line: number; members: number }

const declarations = /^(TSInterfaceDeclaration|TSTypeAliasDeclaration|ClassDeclaration)$/

export function typesIn(file: SourceFile): TypeDeclaration[] {
  const found: TypeDeclaration[] = []
  walkTree(parseSource(file), (node) => {
    if (!declarations.test(node.type)) return
    const line = lineNumberAt(file.source, node.start)
    found.push({ name: identifierName(node.id) ?? '', path: file.path, line, members: countMembers(node) })
  })
  return found
}

/** Classes count as 0: their size shows in the size of their file. */
function countMembers(node: unknown): number {
  if (!isNode(node)) return 0
  switch (node.type) {
    case 'TSInterfaceDeclaration':
      return countNames((node.body as Node).body as Node[])
    case 'TSTypeAliasDeclaration':
      return countMembers(node.typeAnnotation)
    case 'TSTypeLiteral':
      return countNames(node.members as Node[])
    case 'TSIntersectionType':
      return (node.types as Node[]).reduce((sum, type) => sum + countMembers(type), 0)
    case 'TSUnionType':
      return Math.max(...(node.types as Node[]).map(countMembers))
    case 'TSTypeReference':
      return /^(Readonly|Partial|Required)$/.test(identifierName(node.typeName) ?? '') ? countWrapped(node) : 0
    default:
      return 0
  }
}

function countWrapped({ typeArguments }: Node): number {
  return isNode(typeArguments) ? countMembers((typeArguments.params as Node[])[0]) : 0
}

/** Overloads of one method are one member. */
function countNames(members: readonly Node[]): number {
  return new Set(members.map((member) => identifierName(member.key) ?? member)).size
}
