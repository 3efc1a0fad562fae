import { withoutFiller } from './filler.ts'
import { normalised } from './similarity.ts'
import type { Word } from './words.ts'
import { wordsOf } from './words.ts'

/** What stands before a choice and says only that one follows. */
const LABEL =
  /^(?:(?:my|our|the|final|overall)\s+)*(?:recommendation|verdict|vote|choice|answer|decision)\s*(?:is(?:\s+to)?\b|:|[-–—])\s*/iu
const OPENING = /^i(?:['’]d| would| will| vote(?: to)?)\s+/iu
/** A choice may be of "this"; it is the same choice. */
const OBJECTS = new Set(['this', 'it', 'that', 'here'])
/** What takes back or restricts what was said before it. */
const TURNS = new Set(
  (
    'but if unless only not no never provided assuming once after when until except though although or however maybe ' +
    'perhaps pending'
  ).split(' '),
)

/** The category that is the given text but for case, punctuation and filler. */
export function categoryNamed(text: string, categories: readonly string[]): string | null {
  const form = normalised(text)
  return categories.find((category) => normalised(category) === form) ?? null
}

/**
 * What a text in prose has chosen: it is the category, or begins with it as a clause of its own ("Approve, because …"), and
 * names no other. A category somewhere in a text says nothing: "I would never approve this".
 */
export function categoryChosen(prose: string, categories: readonly string[]): string | null {
  const text = prose
    .replace(/[*_`#>]+/g, ' ')
    .trim()
    .replace(LABEL, '')
    .replace(OPENING, '')
  // "Approve? No."
  if (/^[^.!\n]*\?/.test(text)) return null
  const words = told(text)
  const chosen = categories.find((category) => {
    const rest = behind(words, told(category))
    if (!rest || TURNS.has(rest[0]?.text ?? '')) return false
    return !categories.some((other) => normalised(other) !== normalised(category) && within(rest, told(other)))
  })
  return chosen ?? null
}

function told(text: string): Word[] {
  return withoutFiller(wordsOf(text))
}

/** What follows the clause that consists of these words; undefined when the text does not begin with such a clause. */
function behind(words: readonly Word[], wanted: readonly Word[]): Word[] | undefined {
  if (wanted.length === 0 || !startsWith(words, wanted)) return undefined
  const object = OBJECTS.has(words[wanted.length]?.text ?? '') && !words[wanted.length - 1]?.ends ? 1 : 0
  const end = wanted.length + object
  return words[end - 1]?.ends || end === words.length ? words.slice(end) : undefined
}

function startsWith(words: readonly Word[], wanted: readonly Word[]): boolean {
  return wanted.every(({ text }, index) => words[index]?.text === text)
}

function within(words: readonly Word[], wanted: readonly Word[]): boolean {
  return wanted.length > 0 && words.some((_, index) => startsWith(words.slice(index), wanted))
}
