import { namesDiffer, parseText } from '../loop/same-subject.ts'
import { contentStemSet, diceCoefficient, findContradiction, normalizeStatement } from './similarity.ts'

/** Share of common words from which two questions are the same when there is no embedder. */
export const LEXICAL_QUESTION_THRESHOLD = 0.8

/** How a question begins to ask, and what an answer to it is: a number, a place, a time, a person, a comparison. */
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['quantity', /\bhow (?:many|much|long|often|old|far|large|big|fast)\b/],
  ['place', /\bwhere\b/],
  ['time', /\bwhen\b/],
  ['person', /\bwho(?:m|se)?\b/],
  ['comparison', /\b(?:differences?|distinctions?|compared?|versus|vs)\b/],
]

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

/** Whether an answer to one question could not answer the other, as with "where" and "when". "How", "what" and "why" often ask for the same. */
function questionKindsDiffer(a: string, b: string): boolean {
  return questionKind(a) !== questionKind(b)
}

function questionKind(question: string): string | undefined {
  const text = question.normalize('NFKC').toLowerCase()
  return KINDS.find(([, pattern]) => pattern.test(text))?.[0]
}
