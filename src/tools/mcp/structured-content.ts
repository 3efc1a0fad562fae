import { isDeepStrictEqual } from 'node:util'

/*
 * Servers repeat their structured content as text for older clients: as the same JSON, as one of its fields, or in words. The model
 * gets each fact once, and none is lost.
 */

/**
 * Whether a model needs the structured content besides the text of a result. `instead`: the text is only its JSON, or there is none;
 * `no`: the text has all of its values; `too`: it has values that the text lacks.
 */
export function needsStructuredContent(text: string, structured: unknown): 'instead' | 'no' | 'too' {
  const parsed = parseJson(text)
  if (text.trim() === '' || isDeepStrictEqual(parsed, structured)) return 'instead'
  const values = leaves(structured)
  if (values.length * text.length > MAX_COMPARED_CHARS) return 'too'
  const isRepeated = values.every((leaf) => isInText(leaf, text, parsed))
  return isRepeated ? 'no' : 'too'
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Bounds the comparison of a long text with many values. */
const MAX_COMPARED_CHARS = 50_000_000

type Leaf = string | number | boolean | null

function leaves(value: unknown): Leaf[] {
  if (Array.isArray(value)) return value.flatMap(leaves)
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leaves)
  return [value as Leaf]
}

function isInText(leaf: Leaf, text: string, parsed: unknown): boolean {
  if (typeof leaf === 'string') {
    // In a text that is JSON, quotes and line breaks of a value are escaped.
    return text.includes(leaf) || (parsed !== undefined && text.includes(JSON.stringify(leaf).slice(1, -1)))
  }
  return new RegExp(`(?<![\\w.])${String(leaf).replaceAll(/[.+]/g, '\\$&')}(?![\\w.]*\\w)`).test(text)
}
