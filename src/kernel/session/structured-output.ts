import type { z } from 'zod'
import { formatIssues } from '../schema.ts'

export type ParsedOutput = { ok: true; object: unknown } | { ok: false; why: string }

/** Reads an answer as an object of the given shape. Models wrap JSON in fences and words; that alone is no misfit. */
export function parseStructuredOutput(schema: z.ZodType, text: string): ParsedOutput {
  const found = parseJson(text) ?? parseEmbeddedJson(text)
  if (!found) return { ok: false, why: 'it is not JSON' }
  const parsed = schema.safeParse(found.value)
  return parsed.success ? { ok: true, object: parsed.data } : { ok: false, why: formatIssues(parsed.error) }
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
