import { apart } from './quantities.ts'
import type { Word } from './words.ts'
import { isContent, stem } from './words.ts'

/** So many capitals make a headline, in which every word looks like a name. */
const HEADLINE = 0.5

/** True when each statement names something that the other one does not: Redis here, Memcached there. */
export function namesDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const [all, others] = [stems(a), stems(b)]
  const [mine, theirs] = [namesIn(a), namesIn(b)]
  return apart(
    mine.filter((name) => !others.includes(name)),
    theirs.filter((name) => !all.includes(name)),
  )
}

function stems(words: readonly Word[]): string[] {
  return words.map(({ text }) => stem(text))
}

function namesIn(words: readonly Word[]): string[] {
  const headline = words.filter(({ raw }) => /^\p{Lu}/u.test(raw)).length > HEADLINE * words.length && words.length > 2
  return words
    .filter(({ raw, text }, index) => {
      if (!isContent(text)) return false
      // Capitals inside of a word make it a name wherever it stands: PostgreSQL, JWT, gRPC.
      if (/^.+\p{Lu}/u.test(raw)) return raw !== raw.toUpperCase() || !shouted(words)
      const opens = index === 0 || words[index - 1]?.ends === true
      return !opens && !headline && /^\p{Lu}/u.test(raw)
    })
    .map(({ text }) => stem(text))
}

/** EVERYTHING IN CAPITALS has no names. */
function shouted(words: readonly Word[]): boolean {
  return words.length > 1 && words.every(({ raw }) => raw === raw.toUpperCase())
}
