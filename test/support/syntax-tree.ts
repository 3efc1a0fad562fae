import type { Comment, Program } from 'oxc-parser'
import { parseSync, visitorKeys } from 'oxc-parser'
import type { SourceFile } from './source-file.ts'

export type Node = { type: string; start: number; end: number; [key: string]: unknown }

/** Where a node hangs: its parent and the parent's field that holds it. */
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

export function walkTree(program: Program, visit: (node: Node, place: NodePosition) => void): void {
  const step = (node: Node, place: NodePosition): void => {
    visit(node, place)
    for (const field of visitorKeys[node.type] ?? []) {
      const below = node[field]
      for (const child of Array.isArray(below) ? below : [below]) {
        if (isNode(child)) step(child, { parent: node, field })
      }
    }
  }
  step(program as unknown as Node, { parent: undefined, field: '' })
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

export function lineNumberAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length
}

/** The name in `x`, `.x` and `['x']`; nothing for what is computed. */
export function identifierName(value: unknown): string | undefined {
  if (!isNode(value)) return undefined
  if (value.type === 'Identifier' || value.type === 'PrivateIdentifier') return String(value.name)
  if (value.type === 'Literal' && typeof value.value === 'string') return value.value
  return undefined
}
