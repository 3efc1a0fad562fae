import { findCategory, parseChosenCategory } from '../../judgement/vote/category.ts'
import type { Severity } from '../../judgement/vote/severity.ts'
import { parseStructuredOutput } from '../../kernel/session/structured-output.ts'
import * as z from '../../schema/zod.ts'
import type { Concern, ContributionContent, contributionSchema } from './output.ts'

type StructuredContribution = z.output<ReturnType<typeof contributionSchema>>

/** Content of an answer that matches the requested schema. */
export function contentFromObject(object: unknown): ContributionContent {
  const { response, recommendation, confidence, concerns, questions } = object as StructuredContribution
  return {
    response,
    recommendation: recommendation.trim() || null,
    confidence,
    concerns: concerns.map((each) => (typeof each === 'string' ? { concern: each, severity: 'minor' as const } : each)),
    questions,
  }
}

const anyObject = z.record(z.string(), z.unknown())
const CONTENT_FIELDS = ['response', 'recommendation', 'confidence', 'concerns', 'questions']

/**
 * Content of an object that does not match the schema, field by field: one invalid field must not lose the others, least of
 * all a critical concern. `undefined` if the text is no object with such fields.
 */
export function contentFromPartialObject(
  text: string,
  categories: readonly string[] | undefined,
): ContributionContent | undefined {
  const parsed = parseStructuredOutput(anyObject, text)
  if (!parsed.ok) return undefined
  const fields = parsed.object as Record<string, unknown>
  if (!CONTENT_FIELDS.some((field) => Object.hasOwn(fields, field))) return undefined
  return {
    response: toText(fields.response),
    recommendation: toRecommendation(toText(fields.recommendation), categories),
    confidence: toConfidence(fields.confidence),
    concerns: toList(fields.concerns).flatMap(toConcerns),
    questions: toList(fields.questions).map(toText).filter(isNotBlank),
  }
}

/** Content of a plain text, with a recommendation if the text starts with a category. */
export function contentFromText(text: string, categories: readonly string[] | undefined): ContributionContent {
  const recommendation = categories ? parseChosenCategory(text, categories) : null
  return { response: text, recommendation, confidence: null, concerns: [], questions: [] }
}

function toRecommendation(text: string, categories: readonly string[] | undefined): string | null {
  if (!isNotBlank(text)) return null
  return categories ? (findCategory(text, categories) ?? parseChosenCategory(text, categories)) : text.trim()
}

/** A number between 1 and this one is ambiguous: it could be on a scale of 5, 10 or 100. */
const MIN_PERCENT = 10

function toConfidence(value: unknown): number | null {
  const [, digits, percent] = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/.exec(String(value ?? '')) ?? []
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
  if (concern === undefined) return severity === 'critical' ? [{ concern: 'no description', severity }] : []
  return [{ concern, severity }]
}

function toList(value: unknown): unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function toText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function isNotBlank(text: string): boolean {
  return text.trim() !== ''
}
