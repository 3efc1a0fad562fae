import type { Document, LineCounter, Scalar } from 'yaml'

/** A position in a file; both numbers start at 1. */
export interface YamlPosition {
  line: number
  column: number
}

/** The path of a value in a document, or of its key, or of a character inside its text. */
export interface PositionQuery {
  path: readonly (string | number)[]
  /** Position of the key instead of the value. */
  key?: boolean
  /** Character offset inside the text of the value. */
  offset?: number
}

type Yaml = typeof import('yaml')

export interface YamlSource {
  yaml: Yaml
  document: Document
  lines: LineCounter
  text: string
}

/** The position of a value in a YAML text; a missing or merged key has the position of its parent. */
export function findYamlPosition(
  { yaml, document, lines, text }: YamlSource,
  { path, key, offset }: PositionQuery,
): YamlPosition {
  let node: unknown = document.contents
  let start = nodeStart(node)
  for (const [depth, part] of path.entries()) {
    if (yaml.isAlias(node)) node = node.resolve(document)
    if (yaml.isSeq(node)) node = node.items[Number(part)]
    else if (yaml.isMap(node)) {
      const pair = node.items.find(
        (each) => (yaml.isScalar(each.key) ? String(each.key.value) : undefined) === String(part),
      )
      const isLast = depth === path.length - 1
      node = isLast && key ? pair?.key : (pair?.value ?? pair?.key)
    } else node = undefined
    if (node === undefined) break
    start = nodeStart(node) ?? start
  }
  if (yaml.isScalar(node) && offset !== undefined) start = scalarOffset(node, text, offset)
  const { line, col } = lines.linePos(start ?? 0)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

function nodeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined
  return (node.range as [number, number, number] | null | undefined)?.[0]
}

/** Maps a character index of a scalar's value to its offset in the file: quotes, escapes and folding shift it. */
function scalarOffset(scalar: Scalar, text: string, target: number): number {
  const [start, end] = scalar.range ?? [0, 0]
  const value = String(scalar.value)
  let offset = contentStart(scalar, text)
  for (let index = 0; index < target && offset < end; index++) {
    offset = skipWhitespace(value[index] ?? '', text, offset)
    offset += sourceWidth(scalar, text, offset)
  }
  return offset < end ? skipWhitespace(value[target] ?? '', text, offset) : start
}

function contentStart({ type, range }: Scalar, text: string): number {
  const start = range?.[0] ?? 0
  if (type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE') return start + 1
  if (type !== 'BLOCK_FOLDED' && type !== 'BLOCK_LITERAL') return start
  const line = text.indexOf('\n', start)
  return line < 0 ? start : line + 1
}

/** Skips line breaks and indentation that are not part of the value. */
function skipWhitespace(character: string, text: string, offset: number): number {
  if (/\s/.test(character)) return offset
  let next = offset
  while (/\s/.test(text[next] ?? '')) next++
  return next
}

/** The number of file characters that encode one character of the value. */
function sourceWidth({ type }: Scalar, text: string, offset: number): number {
  if (type === 'QUOTE_SINGLE' && text.startsWith("''", offset)) return 2
  if (type !== 'QUOTE_DOUBLE' || text[offset] !== '\\') {
    // A folded line break and the indentation after it are one space of the value.
    return /\s/.test(text[offset] ?? '') && type !== 'BLOCK_LITERAL' ? foldWidth(text, offset) : 1
  }
  return { x: 4, u: 6, U: 10 }[text[offset + 1] ?? ''] ?? 2
}

function foldWidth(text: string, offset: number): number {
  const fold = /^[ \t]*\r?\n[ \t]*/.exec(text.slice(offset, offset + 1000))
  return fold?.[0].length ?? 1
}
