import type { SessionResult } from '../../kernel/session-result.ts'
import { parseCutOffObject } from '../../requests/cut-off-object.ts'
import { decodeJsonString, parseStructuredOutput } from '../../requests/structured-output.ts'
import * as z from '../../schema/zod.ts'

/*
 * Reads answers of models leniently, field by field: a field in another form than the contract's is converted or left out, and never
 * sent back for its form.
 */

export type Fields = Readonly<Record<string, unknown>>

const anyObject = z.record(z.string(), z.unknown())

/** The object of an answer: the structured output, the object in its text, or what there is of one that was cut off. */
export function readObject({ object, text }: Pick<SessionResult, 'object' | 'text'>): Fields | undefined {
  if (isFields(object)) return object
  const parsed = parseStructuredOutput(anyObject, text)
  if (parsed.ok) return parsed.object as Fields
  return parseCutOffObject(text)?.fields
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
}

/** A list, or one element without its brackets. */
export function readList(given: unknown): unknown[] {
  const value = decodeJsonString(given)?.value ?? given
  if (value === undefined || value === null || value === '') return []
  return Array.isArray(value) ? value : [value]
}

export function readTexts(given: unknown): string[] {
  return readList(given)
    .map((entry) =>
      isFields(entry) ? readText(Object.values(entry).find((value) => readText(value) !== '')) : readText(entry),
    )
    .filter((text) => text !== '')
}

export function readObjects(given: unknown): Fields[] {
  return readList(given).filter(isFields)
}

export function readBoolean(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  const word = readText(value).toLowerCase()
  if (['true', 'yes', 'passed', 'met'].includes(word)) return true
  return ['false', 'no', 'failed', 'not met'].includes(word) ? false : null
}

export function readInteger(value: unknown): number | undefined {
  const number = typeof value === 'number' ? value : Number.parseInt(readText(value), 10)
  return Number.isInteger(number) ? number : undefined
}

/** One of these words, in any spelling: `Changes requested` is `changes_requested`. */
export function readChoice<T extends string>(value: unknown, choices: readonly T[]): T | undefined {
  const word = readText(value)
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
  return choices.find((choice) => choice === word)
}
