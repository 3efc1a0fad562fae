import type { Document, LineCounter, Scalar } from 'yaml'

/** A place in a file, both counted from 1. */
export interface YamlPosition {
  line: number
  column: number
}

/** Where a value stands in a document; `key` asks for its key, `at` for a character inside its text. */
export interface PositionQuery {
  place: readonly (string | number)[]
  key?: boolean
  at?: number
}

type Yaml = typeof import('yaml')

export interface YamlSource {
  yaml: Yaml
  document: Document
  lines: LineCounter
  text: string
}

/** The spot of a value in a YAML text; what is not written down (a missing key, a merged one) is where it should be. */
export function findYamlPosition(
  { yaml, document, lines, text }: YamlSource,
  { place, key, at }: PositionQuery,
): YamlPosition {
  let node: unknown = document.contents
  let offset = nodeStart(node)
  for (const [depth, part] of place.entries()) {
    if (yaml.isAlias(node)) node = node.resolve(document)
    if (yaml.isSeq(node)) node = node.items[Number(part)]
    else if (yaml.isMap(node)) {
      const pair = node.items.find(
        (each) => (yaml.isScalar(each.key) ? String(each.key.value) : undefined) === String(part),
      )
      const last = depth === place.length - 1
      node = last && key ? pair?.key : (pair?.value ?? pair?.key)
    } else node = undefined
    if (node === undefined) break
    offset = nodeStart(node) ?? offset
  }
  if (yaml.isScalar(node) && at !== undefined) offset = scalarOffset(node, text, at)
  const { line, col } = lines.linePos(offset ?? 0)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

function nodeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined
  return (node.range as [number, number, number] | null | undefined)?.[0]
}

/** The offset in the file of a character of a scalar's value: quotes, escapes and folded lines make them differ. */
function scalarOffset(scalar: Scalar, text: string, at: number): number {
  const [start, end] = scalar.range ?? [0, 0]
  const value = String(scalar.value)
  let offset = contentStart(scalar, text)
  for (let index = 0; index < at && offset < end; index++) {
    offset = skipWhitespace(value[index] ?? '', text, offset)
    offset += sourceWidth(scalar, text, offset)
  }
  return offset < end ? skipWhitespace(value[at] ?? '', text, offset) : start
}

function contentStart({ type, range }: Scalar, text: string): number {
  const start = range?.[0] ?? 0
  if (type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE') return start + 1
  if (type !== 'BLOCK_FOLDED' && type !== 'BLOCK_LITERAL') return start
  const line = text.indexOf('\n', start)
  return line < 0 ? start : line + 1
}

/** Passes the line breaks and margins that the value does not have. */
function skipWhitespace(character: string, text: string, offset: number): number {
  if (/\s/.test(character)) return offset
  let next = offset
  while (/\s/.test(text[next] ?? '')) next++
  return next
}

/** How many characters of the file make one of the value. */
function sourceWidth({ type }: Scalar, text: string, offset: number): number {
  if (type === 'QUOTE_SINGLE' && text.startsWith("''", offset)) return 2
  if (type !== 'QUOTE_DOUBLE' || text[offset] !== '\\') {
    // A folded line break is one blank of the value, with the margin of the next line.
    return /\s/.test(text[offset] ?? '') && type !== 'BLOCK_LITERAL' ? foldWidth(text, offset) : 1
  }
  return { x: 4, u: 6, U: 10 }[text[offset + 1] ?? ''] ?? 2
}

function foldWidth(text: string, offset: number): number {
  const fold = /^[ \t]*\r?\n[ \t]*/.exec(text.slice(offset, offset + 1000))
  return fold?.[0].length ?? 1
}
