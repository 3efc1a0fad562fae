import type { z } from 'zod'
import { problemsOf } from './schema.ts'

export type Fitted = { ok: true; object: unknown } | { ok: false; why: string }

/** Reads an answer as an object of the given shape. Models wrap JSON in fences and words; that alone is no misfit. */
export function readAs(schema: z.ZodType, text: string): Fitted {
  const found = parse(text) ?? parseWithin(text)
  if (!found) return { ok: false, why: 'it is not JSON' }
  const parsed = schema.safeParse(found.value)
  return parsed.success ? { ok: true, object: parsed.data } : { ok: false, why: problemsOf(parsed.error) }
}

function parseWithin(text: string): { value: unknown } | undefined {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)```/.exec(text)?.[1]
  return parse(fenced) ?? parse(/[{[][\s\S]*[}\]]/.exec(text)?.[0])
}

function parse(text: string | undefined): { value: unknown } | undefined {
  if (text === undefined) return undefined
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
