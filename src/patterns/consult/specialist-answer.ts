import type { SessionResult } from '../../kernel/session-result.ts'
import { isCopiedExample } from '../../requests/copied-example.ts'
import { parseJsonObject, parseStructuredOutput } from '../../requests/structured-output.ts'
import { withJsonSchema } from '../../schema/schema.ts'
import { arrayOf, NUMBER, nullable, strictObject, TEXT } from '../../schema/strict-schema.ts'
import * as z from '../../schema/zod.ts'
import { ANSWER_EXAMPLE } from './answer-form.ts'

/** The structured answer that a specialist is asked for. */
export const specialistAnswer = withJsonSchema(
  z.looseObject({}),
  strictObject({
    answer: nullable('string'),
    clarification_needed: nullable('string'),
    additional_context: nullable('string'),
    code_reference: nullable('string'),
    suggested_next_steps: arrayOf(TEXT),
    confidence: NUMBER,
  }),
)

export interface SpecialistAnswer {
  answer: string
  clarification_needed?: string
  additional_context?: string
  code_reference?: string
  suggested_next_steps: string[]
  confidence?: number
}

/** Reads a specialist's answer leniently: prose is an answer, a field of the wrong form is left out, nothing is asked again. */
export function parseSpecialistAnswer({ text, object }: Pick<SessionResult, 'text' | 'object'>): SpecialistAnswer {
  const found = (object ?? parsedObject(text)) as Record<string, unknown> | undefined
  const field = (name: string) => {
    const value = found?.[name]
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
  }
  const clarification_needed = field('clarification_needed')
  const answer = field('answer')
  if (answer !== undefined && isCopiedExample(answer, [ANSWER_EXAMPLE.answer]))
    return { answer: '', suggested_next_steps: [] }
  if (!found || (answer === undefined && clarification_needed === undefined)) {
    return { answer: text.trim(), suggested_next_steps: [] }
  }
  const [additional_context, code_reference] = [field('additional_context'), field('code_reference')]
  const confidence = toConfidence(found.confidence)
  return {
    answer: answer ?? '',
    suggested_next_steps: toLines(found.suggested_next_steps),
    // An answer that also asks something back is an answer: the question goes with it as context.
    ...(clarification_needed === undefined || answer !== undefined ? undefined : { clarification_needed }),
    ...(additional_context === undefined ? undefined : { additional_context }),
    ...(code_reference === undefined ? undefined : { code_reference }),
    ...(confidence === undefined ? undefined : { confidence }),
  }
}

function parsedObject(text: string): unknown {
  const whole = parseJsonObject(text)
  if (whole) return whole
  const embedded = parseStructuredOutput(z.looseObject({}), text)
  return embedded.ok ? embedded.object : undefined
}

function toLines(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value]
  return list.flatMap((line) => (typeof line === 'string' && line.trim() !== '' ? line.trim() : []))
}

function toConfidence(value: unknown): number | undefined {
  const number = typeof value === 'string' ? Number.parseFloat(value) : value
  if (typeof number !== 'number' || Number.isNaN(number) || number < 0) return undefined
  if (number <= 1) return number
  return number <= 100 ? number / 100 : undefined
}
