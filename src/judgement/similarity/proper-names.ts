import { neitherIncludesOther } from './quantities.ts'
import type { Word } from './tokenizer.ts'
import { isContentWord, stem } from './tokenizer.ts'

/** Above this share of capitalised words a text is a headline, in which capitals do not mark names. */
const HEADLINE_SHARE = 0.5
/** A shorter text of names, such as "Ask Ada Lovelace", is no headline. */
const MIN_HEADLINE_WORDS = 6

/** Whether each statement has a proper name that the other lacks, such as Redis and Memcached. */
export function properNamesDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const [stemsOfA, stemsOfB] = [stemsFrom(a), stemsFrom(b)]
  return neitherIncludesOther(
    properNames(a).filter((name) => !stemsOfB.includes(name)),
    properNames(b).filter((name) => !stemsOfA.includes(name)),
  )
}

function stemsFrom(words: readonly Word[]): string[] {
  return words.map(({ text }) => stem(text))
}

function properNames(words: readonly Word[]): string[] {
  const isHeadline =
    words.length >= MIN_HEADLINE_WORDS &&
    words.filter(({ raw }) => /^\p{Lu}/u.test(raw)).length > HEADLINE_SHARE * words.length
  return words
    .filter(({ raw, text }, index) => {
      if (!isContentWord(text)) return false
      // A capital inside a word marks a name in any position: PostgreSQL, JWT, gRPC.
      if (/^.+\p{Lu}/u.test(raw)) return raw !== raw.toUpperCase() || !isAllCaps(words)
      const startsClause = index === 0 || words[index - 1]?.endsClause === true
      return !startsClause && !isHeadline && /^\p{Lu}/u.test(raw)
    })
    .map(({ text }) => stem(text))
}

/** In a TEXT ALL IN CAPITALS, capitals do not mark names. */
function isAllCaps(words: readonly Word[]): boolean {
  return words.length > 1 && words.every(({ raw }) => raw === raw.toUpperCase())
}
