import type { ErrorRecord } from '../../../errors.ts'
import { tokenize } from '../../../judgement/similarity/tokenizer.ts'
import { findCategory, parseChosenCategory } from '../../../judgement/vote/category.ts'
import { hasWords } from '../../../requests/shown-marks.ts'
import type { Collaboration } from '../input/prepare-collaboration.ts'
import type { Contribution } from '../output.ts'
import type { Extraction } from '../prompts/extraction-prompt.ts'
import { extractionAnswer, extractionPrompt, extractionsByAnswer } from '../prompts/extraction-prompt.ts'
import { isExampleText } from '../prompts/specialist-prompt.ts'

/*
 * Reads the recommendations of answers in prose, where a vote or `on_conflict` depends on them.
 * 1. One model request for all of them, to the model role `fast`.
 * 2. A recommendation that could be read is never changed.
 * 3. An extracted recommendation is in the words of its answer, or a category with a quote of them; otherwise it counts as none.
 */

export interface ExtractedContributions {
  contributions: Contribution[]
  /** Why recommendations stayed unread. */
  problems: string[]
  /** The failure of the extraction, which resume can retry. */
  error?: ErrorRecord
}

export async function extractRecommendations(
  { context, systemAgents, contributionScope, input: { categories } }: Collaboration,
  contributions: Contribution[],
): Promise<ExtractedContributions> {
  const open = contributions.filter(isUnreadProse)
  if (open.length === 0) return { contributions, problems: [] }
  const texts = open.map(({ response }) => response)
  const { value, error, stop_reason } = await context.request({
    key: 'extraction',
    agent: systemAgents.extractor,
    prompt: extractionPrompt(contributionScope.shared, texts),
    answer: extractionAnswer(texts.length, categories),
    internal: true,
  })
  const toFailure = (reason: string) => ({
    contributions,
    problems: [`recommendations in prose were not read: ${reason}`],
  })
  if (error || !value) return { ...toFailure(error?.message ?? stop_reason), ...(error ? { error } : undefined) }
  const found = extractionsByAnswer(value)
  const extracted = new Map(
    open.flatMap((contribution, index) => {
      const extraction = found.get(index + 1)
      const recommendation = extraction ? supportedRecommendation(extraction, contribution, categories) : null
      return recommendation === null ? [] : [[contribution, recommendation] as const]
    }),
  )
  const withExtracted = contributions.map((contribution) => {
    const recommendation = extracted.get(contribution)
    return recommendation === undefined ? contribution : { ...contribution, recommendation, extracted: true as const }
  })
  return { contributions: withExtracted, problems: [] }
}

/** An answer with text and nothing that could be read from it. The plan of a hierarchy is no answer. */
function isUnreadProse({ role, status, error, response, recommendation, concerns, subtask }: Contribution): boolean {
  const isPlan = role === 'coordinator' && subtask === undefined
  return (
    !error && !isPlan && status !== 'timeout' && recommendation === null && concerns.length === 0 && hasWords(response)
  )
}

/** Prevents votes that nobody cast: at least two thirds of the words have to be in the answer. */
const MIN_SUPPORT = 2 / 3

function supportedRecommendation(
  { recommendation, quote }: Extraction,
  { response }: Contribution,
  categories: readonly string[] | undefined,
): string | null {
  if (!categories) return isQuoted(recommendation, response) && !isExampleText(recommendation) ? recommendation : null
  const category = findCategory(recommendation, categories)
  const quoted = parseChosenCategory(quote, categories)
  return isQuoted(quote, response) && (quoted === null || quoted === category) ? category : null
}

function isQuoted(quote: string, response: string): boolean {
  const known = new Set(tokenize(response).map((word) => word.text))
  const words = tokenize(quote).map((word) => word.text)
  const supported = words.filter((word) => known.has(word)).length
  return words.length > 0 && supported / words.length >= MIN_SUPPORT
}
