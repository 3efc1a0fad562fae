import { neitherIncludesOther } from './quantities.ts'
import type { Word } from './tokenizer.ts'
import { isContentWord, stem } from './tokenizer.ts'

/** So many capitals make a headline, in which every word looks like a name. */
const HEADLINE_SHARE = 0.5

/** True when each statement names something that the other one does not: Redis here, Memcached there. */
export function properNamesDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const [all, others] = [stemsFrom(a), stemsFrom(b)]
  const [mine, theirs] = [properNames(a), properNames(b)]
  return neitherIncludesOther(
    mine.filter((name) => !others.includes(name)),
    theirs.filter((name) => !all.includes(name)),
  )
}

function stemsFrom(words: readonly Word[]): string[] {
  return words.map(({ text }) => stem(text))
}

function properNames(words: readonly Word[]): string[] {
  const headline =
    words.filter(({ raw }) => /^\p{Lu}/u.test(raw)).length > HEADLINE_SHARE * words.length && words.length > 2
  return words
    .filter(({ raw, text }, index) => {
      if (!isContentWord(text)) return false
      // Capitals inside of a word make it a name wherever it stands: PostgreSQL, JWT, gRPC.
      if (/^.+\p{Lu}/u.test(raw)) return raw !== raw.toUpperCase() || !isAllCaps(words)
      const opens = index === 0 || words[index - 1]?.endsClause === true
      return !opens && !headline && /^\p{Lu}/u.test(raw)
    })
    .map(({ text }) => stem(text))
}

/** EVERYTHING IN CAPITALS has no names. */
function isAllCaps(words: readonly Word[]): boolean {
  return words.length > 1 && words.every(({ raw }) => raw === raw.toUpperCase())
}
