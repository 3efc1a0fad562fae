import { stripFiller } from '../similarity/filler.ts'
import { normalizeStatement } from '../similarity/similarity.ts'
import type { Word } from '../similarity/tokenizer.ts'
import { tokenize } from '../similarity/tokenizer.ts'

/** Labels that introduce a choice. */
const LABEL =
  /^(?:(?:my|our|the|final|overall)\s+)*(?:recommendation|verdict|vote|choice|answer|decision)\s*(?:is(?:\s+to)?\b|:|[-–—])\s*/iu
/** A sentence that ends with a choice: "So, in my view, the answer is yes." */
const CONCLUSION =
  /\b(?:my|our|the|final|overall)\s+(?:(?:final|overall)\s+)?(?:recommendation|verdict|vote|choice|answer|decision)\s*(?:is(?:\s+to)?\b:?|:|[-–—])\s*(.+)$/iu
const OPENING = /^i(?:['’]d| would| will| vote(?: to)?)\s+/iu
/** Pronouns that may follow a choice without changing it: "approve this". */
const OBJECT_PRONOUNS = new Set(['this', 'it', 'that', 'here'])
/** Words that restrict or retract the choice before them. */
const QUALIFIERS = new Set(
  (
    'but if unless only not no never provided assuming once after when until except though although or however maybe ' +
    'perhaps pending'
  ).split(' '),
)

/** The category that equals the text, ignoring case, punctuation and filler. */
export function findCategory(text: string, categories: readonly string[]): string | null {
  const normalized = normalizeStatement(text)
  return categories.find((category) => normalizeStatement(category) === normalized) ?? null
}

/**
 * The category that a prose answer chooses: the text is the category, or begins with it as a separate clause ("Approve,
 * because …"), and mentions no other; or its last sentence names the choice ("So the answer is yes."). A category elsewhere in
 * the text is not a choice: "I would never approve this".
 */
export function parseChosenCategory(prose: string, categories: readonly string[]): string | null {
  const text = prose.replace(/[*_`#>]+/g, ' ').trim()
  return leadingCategory(text.replace(LABEL, ''), categories) ?? concludingCategory(text, categories)
}

/** The category after a label in the last sentence. */
function concludingCategory(text: string, categories: readonly string[]): string | null {
  const last = text.split(/(?<=[.!?])\s+|\n+/).findLast((sentence) => sentence.trim() !== '') ?? ''
  const [, conclusion] = CONCLUSION.exec(last) ?? []
  return conclusion === undefined ? null : leadingCategory(conclusion, categories)
}

function leadingCategory(answer: string, categories: readonly string[]): string | null {
  const text = answer.replace(OPENING, '')
  // "Approve? No."
  if (/^[^.!\n]*\?/.test(text)) return null
  const words = meaningfulWords(text)
  const chosen = categories.find((category) => {
    const rest = wordsAfterClause(words, meaningfulWords(category))
    if (!rest || QUALIFIERS.has(rest[0]?.text ?? '')) return false
    return !categories.some(
      (other) =>
        normalizeStatement(other) !== normalizeStatement(category) && containsWords(rest, meaningfulWords(other)),
    )
  })
  return chosen ?? null
}

function meaningfulWords(text: string): Word[] {
  return stripFiller(tokenize(text))
}

/** The words after a leading clause of exactly these words; `undefined` when the text does not begin with it. */
function wordsAfterClause(words: readonly Word[], expected: readonly Word[]): Word[] | undefined {
  if (expected.length === 0 || !startsWith(words, expected)) return undefined
  const object =
    OBJECT_PRONOUNS.has(words[expected.length]?.text ?? '') && !words[expected.length - 1]?.endsClause ? 1 : 0
  const end = expected.length + object
  return words[end - 1]?.endsClause || end === words.length ? words.slice(end) : undefined
}

function startsWith(words: readonly Word[], expected: readonly Word[]): boolean {
  return expected.every(({ text }, index) => words[index]?.text === text)
}

function containsWords(words: readonly Word[], expected: readonly Word[]): boolean {
  return expected.length > 0 && words.some((_, index) => startsWith(words.slice(index), expected))
}
