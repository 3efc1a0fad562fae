import type { SourceFile } from '../support/source-file.ts'
import type { Node, NodePosition } from '../support/syntax-tree.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'

/** A function, method, constructor or function type; `name` is undefined for an anonymous callback. */
export type FunctionShape = {
  name: string | undefined
  path: string
  line: number
  lines: number
  parameters: number
  returnsPromise: boolean
  hasBody: boolean
}

const bodies = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/
const signatures =
  /^(TSDeclareFunction|TSEmptyBodyFunctionExpression|TSMethodSignature|TSConstructSignatureDeclaration)$/
const functionTypeHolders = /^(TSPropertySignature|TSTypeAliasDeclaration|PropertyDefinition)$/

export function functionsIn(file: SourceFile): FunctionShape[] {
  const found: FunctionShape[] = []
  walkTree(parseSource(file), (node, { parent }) => {
    const signature = signatureAt(node)
    if (!signature) return
    const [first, last] = [lineNumberAt(file.source, node.start), lineNumberAt(file.source, node.end)]
    found.push({
      name: functionName(node, parent),
      path: file.path,
      line: first,
      lines: last - first + 1,
      parameters: countParameters(signature),
      returnsPromise: signature.async === true || isPromise(unwrapAnnotation(signature.returnType)),
      hasBody: bodies.test(node.type),
    })
  })
  return found
}

/** `listen: (event: E) => void` counts as a function like `listen(event: E): void`. */
function signatureAt(node: Node): Node | undefined {
  if (bodies.test(node.type) || signatures.test(node.type)) return node
  if (!functionTypeHolders.test(node.type)) return undefined
  const type = unwrapAnnotation(node.typeAnnotation)
  return type?.type === 'TSFunctionType' ? type : undefined
}

function functionName(node: Node, parent: NodePosition['parent']): string | undefined {
  return (
    identifierName(node.id) ?? identifierName(node.key) ?? identifierName(parent?.id) ?? identifierName(parent?.key)
  )
}

/** A `this` parameter is a type annotation: no caller passes it. */
function countParameters({ params }: Node): number {
  return (params as Node[]).filter((parameter) => identifierName(parameter) !== 'this').length
}

function unwrapAnnotation(annotation: unknown): Node | undefined {
  if (!isNode(annotation)) return undefined
  return annotation.type === 'TSTypeAnnotation' ? unwrapAnnotation(annotation.typeAnnotation) : annotation
}

/** `Promise<T>`, and unions that may be one, such as `T | Promise<T>`. */
function isPromise(type: Node | undefined): boolean {
  if (type?.type === 'TSUnionType') return (type.types as Node[]).some(isPromise)
  return type?.type === 'TSTypeReference' && /^Promise(Like)?$/.test(identifierName(type.typeName) ?? '')
}
