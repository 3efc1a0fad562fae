import { namesDiffer, parseText } from '../loop/same-subject.ts'
import { questionKindsDiffer } from './question-kind.ts'
import { contentStemSet, diceCoefficient, findContradiction, normalizeStatement } from './similarity.ts'

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
