import { createRequire } from 'node:module'
import { validateValue } from '../schema/schema.ts'
import type { Schema } from '../schema/standard-schema.ts'
import { isCutOff } from './cut-off-object.ts'

export type ParsedOutput = { ok: true; object: unknown } | { ok: false; reason: string }

/**
 * Structured output: parses a model's text against a schema. Accepts bare JSON, fenced JSON, JSON surrounded by prose, each
 * of them as a JSON string (double encoding), and an object with mistakes such as trailing commas.
 */
export function parseStructuredOutput(schema: Schema, text: string): ParsedOutput {
  const answer = withoutReasoning(text)
  const found = parseJson(answer) ?? parseEmbeddedJson(answer) ?? parseBrokenJson(answer)
  if (!found) return { ok: false, reason: 'it is not JSON' }
  const parsed = validateValue(schema, found.value)
  if (parsed.ok) return { ok: true, object: parsed.value }
  const decoded = decodeJsonString(found.value)
  const second = decoded && validateValue(schema, decoded.value)
  return second?.ok ? { ok: true, object: second.value } : { ok: false, reason: parsed.problem }
}

/** The object of a text that is JSON and nothing else, perhaps encoded twice. */
export function parseJsonObject(text: string): object | undefined {
  const value = parseJson(text)?.value
  const object = decodeJsonString(value)?.value ?? value
  return typeof object === 'object' && object !== null ? object : undefined
}

/** The object or list that a string holds as JSON. */
export function decodeJsonString(value: unknown): { value: unknown } | undefined {
  if (typeof value !== 'string' || !/^\s*[{["`]/.test(value)) return undefined
  const decoded = parseJson(value) ?? parseEmbeddedJson(value)
  return typeof decoded?.value === 'object' && decoded.value !== null ? decoded : undefined
}

/** JSON in a code fence, or from the first brace to the last. Searches by index: a regular expression could take quadratic time (ReDoS). */
function parseEmbeddedJson(text: string): { value: unknown } | undefined {
  const fenced = text.split('```').find((part, index) => index % 2 === 1 && /^(?:json)?\s*?\n/i.test(part))
  const start = text.search(/[{[]/)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  return (
    parseJson(fenced?.replace(/^json/i, '')) ??
    (start < 0 || end < start ? undefined : parseJson(text.slice(start, end + 1)))
  )
}

/** Servers whose chat template begins the reasoning send only its end tag. */
function withoutReasoning(text: string): string {
  const end = text.lastIndexOf('</think>')
  return end < 0 ? text : text.slice(end + '</think>'.length)
}

/** An object with mistakes, to its last brace. One that was cut off is not completed: half an answer may say the opposite of the whole one. */
function parseBrokenJson(text: string): { value: unknown } | undefined {
  const start = text.indexOf('{')
  if (start < 0 || isCutOff(text.slice(start))) return undefined
  const value = repairJsonObject(text.slice(start, text.lastIndexOf('}') + 1))
  return value && { value }
}

function parseJson(text: string | undefined): { value: unknown } | undefined {
  if (text === undefined) return undefined
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Texts above this length are not repaired: some take the parser more than quadratic time (denial of service). */
const MAX_CHARACTERS = 20_000

let parser: typeof import('jsonrepair') | undefined

/**
 * The object of a text that is almost JSON: trailing commas, comments, single or typographic quotes, names without quotes, raw line breaks, Python's
 * `True` and `None`. `undefined` for anything else. The parser is loaded with the first such text: most responses are JSON.
 */
function repairJsonObject(text: string): object | undefined {
  if (text.length > MAX_CHARACTERS || !/^\{\s*["'“‘\w/#]/.test(text)) return undefined
  try {
    parser ??= createRequire(import.meta.url)('jsonrepair') as typeof import('jsonrepair')
    const value: unknown = JSON.parse(parser.jsonrepair(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
