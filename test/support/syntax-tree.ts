import type { Comment, Program } from 'oxc-parser'
import { parseSync, visitorKeys } from 'oxc-parser'
import type { SourceFile } from './source-file.ts'

export type Node = { type: string; start: number; end: number; [key: string]: unknown }

/** The parent of a node and the field of the parent that contains it. */
export type NodePosition = { parent: Node | undefined; field: string }

type Parsed = { source: string; program: Program; comments: readonly Comment[] }

const cache = new Map<string, Parsed>()

export function parseSource(file: SourceFile): Program {
  return parseOnce(file).program
}

export function commentsIn(file: SourceFile): readonly Comment[] {
  return parseOnce(file).comments
}

function parseOnce({ path, source }: SourceFile): Parsed {
  const known = cache.get(path)
  if (known?.source === source) return known
  const { program, comments, errors } = parseSync(path, source, { preserveParens: false })
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors.map((error) => error.message).join('; ')}`)
  const parsed = { source, program, comments }
  cache.set(path, parsed)
  return parsed
}

export function walkTree(program: Program, visit: (node: Node, position: NodePosition) => void): void {
  const visitNode = (node: Node, position: NodePosition): void => {
    visit(node, position)
    for (const field of visitorKeys[node.type] ?? []) {
      const value = node[field]
      for (const child of Array.isArray(value) ? value : [value]) {
        if (isNode(child)) visitNode(child, { parent: node, field })
      }
    }
  }
  visitNode(program as unknown as Node, { parent: undefined, field: '' })
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

export function lineNumberAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length
}

/** The name in `x`, `.x` and `['x']`; undefined for computed names. */
export function identifierName(value: unknown): string | undefined {
  if (!isNode(value)) return undefined
  if (value.type === 'Identifier' || value.type === 'PrivateIdentifier') return String(value.name)
  if (value.type === 'Literal' && typeof value.value === 'string') return value.value
  return undefined
}
