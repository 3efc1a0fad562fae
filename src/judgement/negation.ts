import type { Word } from './words.ts'
import { isContent, stem } from './words.ts'

/** Turns what follows into its opposite, or rules it out. Other languages: the commonest only, the embedder knows English. */
const NEGATORS = new Set(
  (
    'not no never none nobody nothing nowhere neither nor without avoid avoids avoiding avoided stop stops stopping stopped refrain ' +
    'refrains refraining cease ceases abstain skip skips skipping skipped omit omits omitting omitted forbid forbids forbidden ' +
    'prohibit prohibits prohibited ban bans banned prevent prevents preventing lack lacks lacking against unless except excluding ' +
    'hardly barely forgo ' +
    'nicht kein keine keinen nie ohne statt pas jamais sans aucun nunca sin sem não nie bez не нет без никогда 不 没 无 否 勿'
  ).split(' '),
)
/** Phrases of two words with the same effect. */
const NEGATING_PAIRS = new Set(['instead of', 'rather than', 'opposed to', 'far from', 'hold off', 'opt out'])
const NEGATING_FIRST = new Set([...NEGATING_PAIRS].map((pair) => pair.split(' ')[0] ?? pair))
/** A statement that holds only sometimes is another one than the same without the condition. */
const CONDITIONS = new Set([
  'if',
  'until',
  'provided',
  'assuming',
  'otherwise',
  'depending',
  'only',
  'solely',
  'exclusively',
])

/** How far a negation reaches at most, in content words. */
const REACH = 6
/** Where it ends before that. */
const TURNS = new Set([
  'but',
  'and',
  'then',
  'instead',
  'because',
  'since',
  'so',
  'while',
  'whereas',
  'however',
  'by',
  'through',
  'via',
])

/** True when one statement denies, excludes or restricts something that the other one does not. */
export function negationsDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const [mine, theirs] = [negationIn(a), negationIn(b)]
  if (mine.count !== theirs.count || mine.conditions !== theirs.conditions) return true
  return crossed(mine, theirs) || crossed(theirs, mine)
}

interface Negation {
  count: number
  conditions: number
  /** Content words that stand only inside, or only outside, of what is denied. */
  denied: Set<string>
  said: Set<string>
}

/** What one denies the other one says. */
function crossed(one: Negation, other: Negation): boolean {
  return [...one.denied].some((word) => other.said.has(word))
}

function negationIn(words: readonly Word[]): Negation {
  const [inside, outside] = [new Set<string>(), new Set<string>()]
  let [count, conditions, reach] = [0, 0, 0]
  let clause: string[] = []
  words.forEach(({ text, ends }, index) => {
    const next = words[index + 1]?.text
    if (CONDITIONS.has(text)) conditions++
    if (negates(text, next)) {
      // "neither … nor" and "not … nor" deny once.
      if (text !== 'nor') count++
      reach = REACH
      // "Personal data must not be logged" denies what stands before it as well.
      if (next === 'be') for (const word of clause) [outside.delete(word), inside.add(word)]
    } else if (reach > 0 && TURNS.has(text)) reach = 0
    else if (isContent(text)) {
      ;(reach > 0 ? inside : outside).add(stem(text))
      clause.push(stem(text))
      reach = Math.max(0, reach - 1)
    }
    if (ends) [reach, clause] = [0, []]
  })
  return { count, conditions, denied: minus(inside, outside), said: minus(outside, inside) }
}

/** Words that the comparison of negations has dealt with. */
export function isNegating(word: string): boolean {
  return NEGATORS.has(word) || NEGATING_FIRST.has(word)
}

function negates(text: string, next: string | undefined): boolean {
  return NEGATORS.has(text) || (next !== undefined && NEGATING_PAIRS.has(`${text} ${next}`))
}

function minus(set: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> {
  return new Set([...set].filter((word) => !other.has(word)))
}
