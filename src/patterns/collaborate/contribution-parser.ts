import { findCategory, parseChosenCategory } from '../../judgement/vote/category.ts'
import type { Answer } from '../../kernel/session-request.ts'
import { readText } from '../../requests/read-answer.ts'
import { hasWords } from '../../requests/shown-marks.ts'
import type { Concern, ContributionContent } from './output.ts'
import type { ContributionAnswer } from './prompts/specialist-prompt.ts'
import { EXAMPLE_CONCERN, isExampleText } from './prompts/specialist-prompt.ts'

/** Content of an answer: of the object in it, if it has one with such fields, else of its text. */
export function contentFrom(
  { value, fields, notes, text }: Pick<Answer<ContributionAnswer>, 'value' | 'fields' | 'notes' | 'text'>,
  categories: readonly string[] | undefined,
): ContributionContent {
  if (!value) return contentFromText(text, categories)
  const { response, recommendation, confidence, concerns, questions } = value
  const chosen = categories ? chosenCategory(readText(fields?.recommendation), categories) : recommendation
  return {
    response: hasWords(response) ? response : '',
    recommendation: chosen !== null && hasWords(chosen) ? chosen : null,
    confidence,
    concerns: concerns.flatMap(toConcern),
    questions: questions.filter(hasWords),
    ...(notes.length > 0 ? { notes: [...notes] } : undefined),
  }
}

/** Content of a plain text, with a recommendation if the text starts with a category. */
export function contentFromText(text: string, categories: readonly string[] | undefined): ContributionContent {
  const recommendation = categories ? parseChosenCategory(text, categories) : null
  return { response: text, recommendation, confidence: null, concerns: [], questions: [] }
}

function chosenCategory(text: string, categories: readonly string[]): string | null {
  return findCategory(text, categories) ?? parseChosenCategory(text, categories)
}

function toConcern({ concern, severity }: Concern): Concern[] {
  // A veto must not be lost for its words.
  if (severity === 'critical')
    return [{ concern: concern === '' || concern === EXAMPLE_CONCERN ? 'no description' : concern, severity }]
  return concern === '' || isExampleText(concern) ? [] : [{ concern, severity }]
}
