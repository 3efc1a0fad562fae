import { stripFiller } from '../similarity/filler.ts'
import { normalizeStatement } from '../similarity/similarity.ts'
import type { Word } from '../similarity/tokenizer.ts'
import { tokenize } from '../similarity/tokenizer.ts'

/** What stands before a choice and says only that one follows. */
const LABEL =
  /^(?:(?:my|our|the|final|overall)\s+)*(?:recommendation|verdict|vote|choice|answer|decision)\s*(?:is(?:\s+to)?\b|:|[-–—])\s*/iu
const OPENING = /^i(?:['’]d| would| will| vote(?: to)?)\s+/iu
/** A choice may be of "this"; it is the same choice. */
const OBJECT_PRONOUNS = new Set(['this', 'it', 'that', 'here'])
/** What takes back or restricts what was said before it. */
const QUALIFIERS = new Set(
  (
    'but if unless only not no never provided assuming once after when until except though although or however maybe ' +
    'perhaps pending'
  ).split(' '),
)

/** The category that is the given text but for case, punctuation and filler. */
export function findCategory(text: string, categories: readonly string[]): string | null {
  const form = normalizeStatement(text)
  return categories.find((category) => normalizeStatement(category) === form) ?? null
}

/**
 * What a text in prose has chosen: it is the category, or begins with it as a clause of its own ("Approve, because …"), and
 * names no other. A category somewhere in a text says nothing: "I would never approve this".
 */
export function parseChosenCategory(prose: string, categories: readonly string[]): string | null {
  const text = prose
    .replace(/[*_`#>]+/g, ' ')
    .trim()
    .replace(LABEL, '')
    .replace(OPENING, '')
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

/** What follows the clause that consists of these words; undefined when the text does not begin with such a clause. */
function wordsAfterClause(words: readonly Word[], wanted: readonly Word[]): Word[] | undefined {
  if (wanted.length === 0 || !startsWith(words, wanted)) return undefined
  const object = OBJECT_PRONOUNS.has(words[wanted.length]?.text ?? '') && !words[wanted.length - 1]?.endsClause ? 1 : 0
  const end = wanted.length + object
  return words[end - 1]?.endsClause || end === words.length ? words.slice(end) : undefined
}

function startsWith(words: readonly Word[], wanted: readonly Word[]): boolean {
  return wanted.every(({ text }, index) => words[index]?.text === text)
}

function containsWords(words: readonly Word[], wanted: readonly Word[]): boolean {
  return wanted.length > 0 && words.some((_, index) => startsWith(words.slice(index), wanted))
}
