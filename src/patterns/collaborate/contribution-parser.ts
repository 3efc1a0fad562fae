import { z } from 'zod'
import { findCategory, parseChosenCategory } from '../../judgement/vote/category.ts'
import type { Severity } from '../../judgement/vote/consensus.ts'
import { parseStructuredOutput } from '../../kernel/session/structured-output.ts'
import type { Concern, Contribution, contributionSchema } from './output.ts'

/** What an answer says, wherever it stands in it. */
export type ContributionContent = Pick<
  Contribution,
  'response' | 'recommendation' | 'confidence' | 'concerns' | 'questions'
>

type StructuredContribution = z.output<ReturnType<typeof contributionSchema>>

/** An answer in the form that was asked for. */
export function contentFromObject(object: unknown): ContributionContent {
  const { response, recommendation, confidence, concerns, questions } = object as StructuredContribution
  const named = recommendation.trim()
  const listed = concerns.map((each) =>
    typeof each === 'string' ? { concern: each, severity: 'minor' as const } : each,
  )
  return { response, recommendation: named === '' ? null : named, confidence, concerns: listed, questions }
}

const anyObject = z.record(z.string(), z.unknown())
const CONTENT_FIELDS = ['response', 'recommendation', 'confidence', 'concerns', 'questions']

/**
 * An answer that is not quite in that form, field by field: what is wrong in one field must not cost the others, least of all
 * a critical concern. Undefined when it is no object with such fields.
 */
export function contentFromPartialObject(
  text: string,
  categories: readonly string[] | undefined,
): ContributionContent | undefined {
  const found = parseStructuredOutput(anyObject, text)
  if (!found.ok) return undefined
  const said = found.object as Record<string, unknown>
  if (!CONTENT_FIELDS.some((field) => Object.hasOwn(said, field))) return undefined
  return {
    response: toText(said.response),
    recommendation: toRecommendation(toText(said.recommendation), categories),
    confidence: toConfidence(said.confidence),
    concerns: toList(said.concerns).flatMap(toConcerns),
    questions: toList(said.questions).map(toText).filter(isNotBlank),
  }
}

/** Words alone, with a choice among categories where they begin with it. */
export function contentFromText(text: string, categories: readonly string[] | undefined): ContributionContent {
  const recommendation = categories ? parseChosenCategory(text, categories) : null
  return { response: text, recommendation, confidence: null, concerns: [], questions: [] }
}

function toRecommendation(text: string, categories: readonly string[] | undefined): string | null {
  if (!isNotBlank(text)) return null
  return categories ? (findCategory(text, categories) ?? parseChosenCategory(text, categories)) : text.trim()
}

/** Below it a number over one may be of five, of ten or of a hundred: nobody knows. */
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

/** A word for severity that nobody knows is taken for the gravest: a veto that was meant must not be lost. */
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
  const { severity: grave, ...fields } = value as Record<string, unknown>
  const severity = toSeverity(grave)
  const concern = [fields.concern, ...Object.values(fields)].map(toText).find(isNotBlank)?.trim()
  if (concern === undefined) return severity === 'critical' ? [{ concern: 'not said in words', severity }] : []
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
