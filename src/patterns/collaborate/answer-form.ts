import { z } from 'zod'
import { categoryChosen, categoryNamed } from '../../judgement/choice.ts'
import { readAs } from '../../kernel/structured.ts'
import type { Concern, Contribution, contributionSchema, Severity } from './output.ts'

/** What an answer says, wherever it stands in it. */
export type Answer = Pick<Contribution, 'response' | 'recommendation' | 'confidence' | 'concerns' | 'questions'>

type Structured = z.output<ReturnType<typeof contributionSchema>>

/** An answer in the form that was asked for. */
export function answerIn(object: unknown): Answer {
  const { response, recommendation, confidence, concerns, questions } = object as Structured
  const named = recommendation.trim()
  const listed = concerns.map((each) =>
    typeof each === 'string' ? { concern: each, severity: 'minor' as const } : each,
  )
  return { response, recommendation: named === '' ? null : named, confidence, concerns: listed, questions }
}

const anyObject = z.record(z.string(), z.unknown())
const FIELDS = ['response', 'recommendation', 'confidence', 'concerns', 'questions']

/**
 * An answer that is not quite in that form, field by field: what is wrong in one field must not cost the others, least of all
 * a critical concern. Undefined when it is no object with such fields.
 */
export function answerNear(text: string, categories: readonly string[] | undefined): Answer | undefined {
  const found = readAs(anyObject, text)
  if (!found.ok) return undefined
  const said = found.object as Record<string, unknown>
  if (!FIELDS.some((field) => Object.hasOwn(said, field))) return undefined
  return {
    response: textIn(said.response),
    recommendation: recommendationIn(textIn(said.recommendation), categories),
    confidence: confidenceIn(said.confidence),
    concerns: listIn(said.concerns).flatMap(concernIn),
    questions: listIn(said.questions).map(textIn).filter(isThere),
  }
}

/** Words alone, with a choice among categories where they begin with it. */
export function answerInWords(text: string, categories: readonly string[] | undefined): Answer {
  const recommendation = categories ? categoryChosen(text, categories) : null
  return { response: text, recommendation, confidence: null, concerns: [], questions: [] }
}

function recommendationIn(text: string, categories: readonly string[] | undefined): string | null {
  if (!isThere(text)) return null
  return categories ? (categoryNamed(text, categories) ?? categoryChosen(text, categories)) : text.trim()
}

/** Below it a number over one may be of five, of ten or of a hundred: nobody knows. */
const SURELY_PERCENT = 10

function confidenceIn(value: unknown): number | null {
  const [, digits, percent] = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/.exec(String(value ?? '')) ?? []
  const number = Number(digits)
  if (digits === undefined || number > 100) return null
  if (percent === '%' || number > SURELY_PERCENT) return number / 100
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
function severityIn(value: unknown): Severity {
  if (value === undefined || value === null) return 'minor'
  const word = textIn(value).trim().toLowerCase()
  return Object.hasOwn(SEVERITIES, word) ? (SEVERITIES[word] as Severity) : 'critical'
}

function concernIn(value: unknown): Concern[] {
  if (typeof value !== 'object' || value === null) {
    const concern = textIn(value).trim()
    return concern === '' ? [] : [{ concern, severity: 'minor' }]
  }
  const { severity: grave, ...fields } = value as Record<string, unknown>
  const severity = severityIn(grave)
  const concern = [fields.concern, ...Object.values(fields)].map(textIn).find(isThere)?.trim()
  if (concern === undefined) return severity === 'critical' ? [{ concern: 'not said in words', severity }] : []
  return [{ concern, severity }]
}

function listIn(value: unknown): unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function textIn(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function isThere(text: string): boolean {
  return text.trim() !== ''
}
