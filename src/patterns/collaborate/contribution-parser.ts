import { findCategory, parseChosenCategory } from '../../judgement/vote/category.ts'
import type { Severity } from '../../judgement/vote/severity.ts'
import { hasWords } from '../../kernel/template-marks.ts'
import { parseCutOffObject } from '../../requests/cut-off-object.ts'
import { decodeJsonString, parseStructuredOutput } from '../../requests/structured-output.ts'
import * as z from '../../schema/zod.ts'
import type { Concern, ContributionContent } from './output.ts'
import { EXAMPLE_CONCERN, isExampleText } from './prompts/specialist-prompt.ts'

const anyObject = z.record(z.string(), z.unknown())
const CONTENT_FIELDS = ['response', 'recommendation', 'confidence', 'concerns', 'questions']

/** Content of an answer: of the object in it, if it has one with such fields, else of its text. */
export function contentFrom(text: string, categories: readonly string[] | undefined): ContributionContent {
  const parsed = parseStructuredOutput(anyObject, text)
  const fields = parsed.ok ? unwrapResponse(parsed.object as Record<string, unknown>) : cutOffFields(text)
  return hasContentField(fields) ? contentFromFields(fields, categories) : contentFromText(text, categories)
}

/** The fields before the place where an answer was cut off. Half a recommendation may say the opposite of the whole one. */
function cutOffFields(text: string): Record<string, unknown> {
  const { fields = {}, cut } = parseCutOffObject(text) ?? {}
  if (cut !== 'recommendation') return fields
  const { recommendation: _incomplete, ...rest } = fields
  return rest
}

/** Field by field: one invalid field must not lose the others, least of all a critical concern. */
function contentFromFields(
  fields: Readonly<Record<string, unknown>>,
  categories: readonly string[] | undefined,
): ContributionContent {
  const confidence = toConfidence(fields.confidence)
  const isOutOfRange = confidence === null && toText(fields.confidence).trim() !== ''
  return {
    response: withoutExample(toText(fields.response)),
    recommendation: toRecommendation(withoutExample(toText(fields.recommendation)), categories),
    confidence,
    concerns: toList(fields.concerns).flatMap(toConcerns),
    questions: toList(fields.questions).map(toText).map(withoutExample).filter(isNotBlank),
    ...(isOutOfRange ? { notes: [`confidence ${toText(fields.confidence).trim()} is not from 0 to 1`] } : undefined),
  }
}

/** The fields of an answer whose `response` is the whole answer once more, as a JSON string. */
function unwrapResponse(fields: Record<string, unknown>): Record<string, unknown> {
  const inner = decodeJsonString(fields.response)?.value as Record<string, unknown> | undefined
  const isWhole = inner !== undefined && Object.hasOwn(inner, 'response') && hasContentField(inner)
  return isWhole && !isNotBlank(toText(fields.recommendation)) ? inner : fields
}

function hasContentField(fields: Readonly<Record<string, unknown>>): boolean {
  return CONTENT_FIELDS.some((field) => Object.hasOwn(fields, field))
}

/** Content of a plain text, with a recommendation if the text starts with a category. */
export function contentFromText(text: string, categories: readonly string[] | undefined): ContributionContent {
  const recommendation = categories ? parseChosenCategory(text, categories) : null
  return { response: text, recommendation, confidence: null, concerns: [], questions: [] }
}

function toRecommendation(text: string, categories: readonly string[] | undefined): string | null {
  if (!hasWords(text)) return null
  return categories ? (findCategory(text, categories) ?? parseChosenCategory(text, categories)) : text.trim()
}

/** A number between 1 and this one is ambiguous: it could be on a scale of 5, 10 or 100. */
const MIN_PERCENT = 10

function toConfidence(value: unknown): number | null {
  const [, digits, percent] = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/.exec(String(value ?? '').normalize('NFKC')) ?? []
  const number = Number(digits)
  if (digits === undefined || number > 100) return null
  if (percent === '%' || number > MIN_PERCENT) return number / 100
  return number <= 1 ? number : null
}

const SEVERITIES: Record<string, Severity> = {
  minor: 'minor',
  low: 'minor',
  info: 'minor',
  moderate: 'moderate',
  medium: 'moderate',
  critical: 'critical',
}

/** An unknown severity counts as critical, so that no veto is lost. */
function toSeverity(value: unknown): Severity {
  if (value === undefined || value === null) return 'minor'
  const word = toText(value).trim().toLowerCase()
  return Object.hasOwn(SEVERITIES, word) ? (SEVERITIES[word] as Severity) : 'critical'
}

function toConcerns(value: unknown): Concern[] {
  if (typeof value !== 'object' || value === null) {
    const concern = toText(value).trim()
    return concern === '' ? [] : [{ concern, severity: 'minor' }]
  }
  const { severity: rawSeverity, ...fields } = value as Record<string, unknown>
  const severity = toSeverity(rawSeverity)
  const concern = [fields.concern, ...Object.values(fields)].map(toText).find(isNotBlank)?.trim()
  // A veto must not be lost for its words.
  if (severity === 'critical')
    return [{ concern: concern === undefined || concern === EXAMPLE_CONCERN ? 'no description' : concern, severity }]
  return concern === undefined || isExampleText(concern) ? [] : [{ concern, severity }]
}

function toList(given: unknown): unknown[] {
  const value = decodeJsonString(given)?.value ?? given
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function toText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** Nothing for a text that the model copied from the example of its prompt. */
function withoutExample(text: string): string {
  return isExampleText(text) || !hasWords(text) ? '' : text
}

function isNotBlank(text: string): boolean {
  return text.trim() !== ''
}
