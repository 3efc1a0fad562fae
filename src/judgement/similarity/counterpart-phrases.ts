import { toRefusal } from './refusal.ts'
import type { Word } from './tokenizer.ts'

interface Counterparts {
  verb: string
  negative: readonly string[]
  positive: readonly string[]
  atStart?: true
}

/** Phrases that say the same with and without a negation, and a verb for both. `atStart`: the second only as the first words of a statement. */
const COUNTERPARTS: readonly Counterparts[] = [
  {
    verb: 'leave',
    negative: ['do nothing', 'change nothing', 'do not change anything'],
    positive: [
      ...['leave it as it is', 'leave it as is', 'leave as is', 'keep it as it is', 'keep it as is', 'keep as is'],
      ...['leave everything as it is', 'leave everything as is', 'leave things as they are', 'leave it alone'],
    ],
  },
  {
    verb: 'remove',
    negative: ['stop using'],
    positive: ['remove', 'drop', 'delete', 'eliminate', 'get rid of'],
    atStart: true,
  },
]

/**
 * Two statements whose negations differ although they may say the same, in a form that can be compared: "stop using jQuery" and
 * "remove jQuery", "do not approve" and "reject". Other statements are unchanged.
 */
export function toCommonForms(a: readonly Word[], b: readonly Word[]): [readonly Word[], readonly Word[]] {
  return toRefusals(...replaceCounterparts(a, b))
}

function replaceCounterparts(a: readonly Word[], b: readonly Word[]): [readonly Word[], readonly Word[]] {
  for (const { verb, negative, positive, atStart = false } of COUNTERPARTS) {
    const [negativeA, negativeB] = [a, b].map((words) => replacePhrase(words, negative, { verb, atStart: false }))
    const [positiveA, positiveB] = [a, b].map((words) => replacePhrase(words, positive, { verb, atStart }))
    if (negativeA && positiveB && !negativeB) return [negativeA, positiveB]
    if (negativeB && positiveA && !negativeA) return [positiveA, negativeB]
  }
  return [a, b]
}

/** The words with the first of these phrases that occurs replaced by the verb; `undefined` if none occurs. */
function replacePhrase(
  words: readonly Word[],
  phrases: readonly string[],
  { verb, atStart }: { verb: string; atStart: boolean },
): Word[] | undefined {
  for (const phrase of phrases) {
    const parts = phrase.split(' ')
    const start = words.findIndex((_, index) => parts.every((part, offset) => words[index + offset]?.text === part))
    const last = words[start + parts.length - 1]
    if (last && (start === 0 || (start > 0 && !atStart)))
      return words.toSpliced(start, parts.length, { ...last, text: verb, raw: verb })
  }
  return undefined
}

/** Two refusals in a common form; other statements unchanged. */
function toRefusals(a: readonly Word[], b: readonly Word[]): [readonly Word[], readonly Word[]] {
  const [refusalA, refusalB] = [toRefusal(a), toRefusal(b)]
  return refusalA && refusalB ? [untilTomorrow(refusalA, refusalB), untilTomorrow(refusalB, refusalA)] : [a, b]
}

/** A refusal until tomorrow is one for today, where the other says "today". */
function untilTomorrow(words: readonly Word[], other: readonly Word[]): readonly Word[] {
  const index = words.findIndex(({ text }, at) => text === 'until' && words[at + 1]?.text === 'tomorrow')
  const tomorrow = words[index + 1]
  if (index < 0 || !tomorrow || !other.some(({ text }) => text === 'today')) return words
  return words.toSpliced(index, 2, { ...tomorrow, text: 'today', raw: 'today' })
}
