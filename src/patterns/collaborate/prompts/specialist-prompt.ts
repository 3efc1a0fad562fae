import { severities } from '../../../judgement/vote/severity.ts'
import { isCopiedExample } from '../../../requests/copied-example.ts'
import { jsonAnswer, section } from '../../../requests/prompt-text.ts'
import { withJsonSchema } from '../../../schema/schema.ts'
import { arrayOf, NUMBER, oneOf, strictObject, TEXT } from '../../../schema/strict-schema.ts'
import * as z from '../../../schema/zod.ts'
import type { Contribution } from '../output.ts'
import { contributionsSection } from './prompt-sections.ts'

/** The system prompt of the specialists, by mode: the same bytes for all of them. */
export const SPECIALIST_SYSTEM = {
  parallel:
    'You are one of several specialists who answer the same question independently. Cover your own field; others cover theirs.',
  sequential:
    'You are one of several specialists who answer the same question one after the other. Cover your own field; others cover ' +
    'theirs. Build on the contributions before yours, and say where you disagree.',
  hierarchical:
    'You are one of several specialists who work on parts of one task. Do your part well; others do theirs, and a coordinator ' +
    'writes the answer from all parts.',
}

/** The form of the answer: an object, an object whose recommendation is one of the choices, or text. */
export type AnswerForm = { categories?: readonly string[] | undefined } | 'text'

export interface SpecialistPromptInput {
  shared: string
  specialist: { name: string; role: string; focus: string; instructions: string }
  form: AnswerForm
  previous?: readonly Contribution[]
  subtask?: string
}

export function specialistPrompt(input: SpecialistPromptInput): string {
  const { shared, specialist, form, previous = [], subtask } = input
  return [
    shared,
    ...(previous.length > 0 ? [contributionsSection(previous)] : []),
    ...(subtask === undefined ? [] : [section('<subtask>', subtask)]),
    section('<you>', identity(specialist)),
    ...(subtask === undefined ? [] : ['Work on your subtask only.']),
    answerForm(form),
  ].join('\n')
}

export function identity({ name, role, focus, instructions }: SpecialistPromptInput['specialist']): string {
  const field = role === name ? '' : ` Field: ${role.trim().replace(/\.$/, '')}.`
  return [
    `Name: ${name}.${field}${focus.trim() === '' ? '' : ` Focus: ${focus.trim()}`}`,
    ...(instructions.trim() === '' ? [] : [instructions.trim()]),
  ].join('\n')
}

export const EXAMPLE_CONCERN = 'what could go wrong'

/** Texts of the example that must not count as an answer when a model copies them. */
const EXAMPLE_TEXTS = {
  response: 'your analysis for the person who asked, at most 200 words',
  recommendation: 'what to do, one imperative sentence of at most 15 words',
  choice: 'exactly one of the choices',
  concern: EXAMPLE_CONCERN,
  question: 'what you would need to know',
}

/** Whether a model copied this text from the example. */
export function isExampleText(text: string): boolean {
  return isCopiedExample(text, Object.values(EXAMPLE_TEXTS))
}

function answerForm(form: AnswerForm): string {
  if (form === 'text') return 'Answer in plain text. Begin with what you recommend.'
  const { categories } = form
  const recommendation = categories
    ? `"recommendation" is exactly one of these choices: ${categories.map((each) => JSON.stringify(each)).join(', ')}.`
    : 'If the task asks for a certain form of answer, such as yes or no, a number or a name, put that into "recommendation".'
  return jsonAnswer(
    [
      recommendation,
      '"confidence" is a number from 0 to 1. "severity" is minor, moderate or critical. Without concerns or questions, give an empty list.',
    ],
    contributionExample(categories),
  )
}

export function contributionExample(categories?: readonly string[]) {
  return {
    response: EXAMPLE_TEXTS.response,
    recommendation: categories ? EXAMPLE_TEXTS.choice : EXAMPLE_TEXTS.recommendation,
    confidence: 0.7,
    concerns: [{ concern: EXAMPLE_TEXTS.concern, severity: 'minor' }],
    questions: [EXAMPLE_TEXTS.question],
  }
}

const schemaCache = new Map<string, z.ZodType>()

/**
 * The requested output of a specialist. Strict for the server; any object is read, field by field. Memoised by categories:
 * building the schema costs as much as several specialists.
 */
export function contributionSchema(categories: readonly string[] | undefined): z.ZodType {
  const cacheKey = JSON.stringify(categories ?? null)
  let schema = schemaCache.get(cacheKey)
  if (!schema) {
    const jsonSchema = strictObject({
      response: TEXT,
      recommendation: categories ? oneOf(categories) : TEXT,
      confidence: NUMBER,
      concerns: arrayOf(strictObject({ concern: TEXT, severity: oneOf(severities) })),
      questions: arrayOf(TEXT),
    })
    schema = withJsonSchema(z.record(z.string(), z.unknown()), jsonSchema)
    if (schemaCache.size > 100) schemaCache.clear()
    schemaCache.set(cacheKey, schema)
  }
  return schema
}
