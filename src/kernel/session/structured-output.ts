import { validateValue } from '../../schema/schema.ts'
import type { Schema } from '../../schema/standard-schema.ts'

export type ParsedOutput = { ok: true; object: unknown } | { ok: false; reason: string }

/** Structured output: parses a model's text against a schema. Accepts bare JSON, fenced JSON and JSON surrounded by prose. */
export function parseStructuredOutput(schema: Schema, text: string): ParsedOutput {
  const found = parseJson(text) ?? parseEmbeddedJson(text)
  if (!found) return { ok: false, reason: 'it is not JSON' }
  const parsed = validateValue(schema, found.value)
  return parsed.ok ? { ok: true, object: parsed.value } : { ok: false, reason: parsed.problem }
}

function parseEmbeddedJson(text: string): { value: unknown } | undefined {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)```/.exec(text)?.[1]
  return parseJson(fenced) ?? parseJson(/[{[][\s\S]*[}\]]/.exec(text)?.[0])
}

function parseJson(text: string | undefined): { value: unknown } | undefined {
  if (text === undefined) return undefined
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
