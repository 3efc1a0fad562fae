import { analyzeNegation, isNegationWord } from './negation.ts'
import type { Word } from './tokenizer.ts'
import { stem } from './tokenizer.ts'

const AFFIRMATIVES = stems('approve accept allow merge ship release deploy launch publish proceed continue')
const REFUSALS = stems('reject decline refuse deny block veto hold wait postpone delay defer pause')

const AFFIRMATION_WORDS = new Set(
  'go ahead yes ok okay sure do it this that and now right away proceed approve approved accept lgtm merge ship release deploy'.split(
    ' ',
  ),
)

/** Whether one statement is nothing but a yes ("go ahead", "yes, ship it") and the other refuses. */
export function affirmsRefused(a: readonly Word[], b: readonly Word[]): boolean {
  return (isAffirmation(a) && toRefusal(b) !== undefined) || (isAffirmation(b) && toRefusal(a) !== undefined)
}

function isAffirmation(words: readonly Word[]): boolean {
  return words.length > 0 && words.every(({ text }) => AFFIRMATION_WORDS.has(text))
}

/**
 * A refusal in a common form: "do not approve the PR", "reject the PR" and "no" differ in their negations although all of
 * them refuse. `undefined` for any other statement.
 */
export function toRefusal(words: readonly Word[]): Word[] | undefined {
  const [head, ...rest] = words
  if (!head || words.some(({ text }) => text === 'yes')) return undefined
  const startsWithNo = head.text === 'no' && (head.endsClause || rest.length === 0)
  const statement = startsWithNo ? rest : words
  const { count, denied } = analyzeNegation(statement)
  const holdsOff = statement.some(({ text }, index) => text === 'hold' && statement[index + 1]?.text === 'off')
  const isDenied = count === 1 && (holdsOff || [...denied].some((word) => AFFIRMATIVES.has(word)))
  const isRefused = count === 0 && statement.some(({ text }) => REFUSALS.has(stem(text)))
  if (!isDenied && !isRefused && !(startsWithNo && count === 0)) return undefined
  return statement
    .filter(({ text }) => REFUSALS.has(stem(text)) || !(isNegationWord(text) || /^(?:do|does|off)$/.test(text)))
    .map((word) => {
      const refuses = REFUSALS.has(stem(word.text)) || (isDenied && AFFIRMATIVES.has(stem(word.text)))
      return refuses ? { ...word, text: 'reject', raw: 'reject' } : word
    })
}

function stems(words: string): ReadonlySet<string> {
  return new Set(words.split(' ').map(stem))
}
