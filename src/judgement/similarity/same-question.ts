import { namesDiffer, parseText } from '../loop/same-subject.ts'
import { questionKindsDiffer } from './question-kind.ts'
import { contentStemSet, diceCoefficient, findContradiction, normalizeStatement } from './similarity.ts'
import { areSynonyms } from './synonyms.ts'
import { stem } from './tokenizer.ts'

/** Share of common words from which two questions are the same when there is no embedder. */
export const LEXICAL_QUESTION_THRESHOLD = 0.8

/** How alike the meanings of two questions are, by an embedder. */
export interface QuestionSimilarity {
  /** Cosine similarity of their vectors. */
  similarity: number
  /** `question_threshold` of the embedder, or else its `threshold`. */
  threshold: number
}

/**
 * Whether two questions ask for the same: they have the same words, or are similar enough and differ in no negation, number, name, opposite or kind of
 * question. Embeddings alone put "increase" and "decrease the timeout" at 0.977. Without an embedder their words decide.
 */
export function isSameQuestion(a: string, b: string, measured?: QuestionSimilarity): boolean {
  const [formA, formB] = [normalizeStatement(a), normalizeStatement(b)]
  if (formA === '' || formB === '') return false
  if (formA === formB) return true
  const { similarity, threshold } = measured ?? {
    similarity: diceCoefficient(contentStemSet(a), contentStemSet(b)),
    threshold: LEXICAL_QUESTION_THRESHOLD,
  }
  return (
    similarity >= threshold &&
    !questionKindsDiffer(a, b) &&
    !namesDiffer(parseText(a), parseText(b)) &&
    findContradiction(a, b) === undefined
  )
}

/**
 * Whether the answer to one question can be given to the other: they ask for the same, and neither says more. "Which tests are slow?" and "Which unit
 * tests are slow?" may have different answers.
 */
export function haveSameAnswer(a: string, b: string, measured?: QuestionSimilarity): boolean {
  return isSameQuestion(a, b, measured) && !oneSaysMore(a, b)
}

/** Words that narrow no question down. */
const FILLER = new Set(
  'really actually possible possibly some many much best good way currently please'.split(' ').map(stem),
)

function oneSaysMore(a: string, b: string): boolean {
  const [wordsA, wordsB] = [significantStems(a), significantStems(b)]
  return (unmatched(wordsA, wordsB).length === 0) !== (unmatched(wordsB, wordsA).length === 0)
}

function significantStems(question: string): string[] {
  return [...contentStemSet(question)].filter((word) => !FILLER.has(word))
}

function unmatched(words: readonly string[], others: readonly string[]): string[] {
  return words.filter((word) => !others.includes(word) && !others.some((other) => areSynonyms(word, other)))
}
