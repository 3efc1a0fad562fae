import type { Word } from './tokenizer.ts'
import { isContentWord, stem } from './tokenizer.ts'

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
const CONDITION_WORDS = new Set([
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
const MAX_SCOPE = 6
/** Where it ends before that. */
const SCOPE_ENDERS = new Set([
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
  const [mine, theirs] = [analyzeNegation(a), analyzeNegation(b)]
  if (mine.count !== theirs.count || mine.conditions !== theirs.conditions) return true
  return contradicts(mine, theirs) || contradicts(theirs, mine)
}

interface Negation {
  count: number
  conditions: number
  /** Content words that stand only inside, or only outside, of what is denied. */
  denied: Set<string>
  asserted: Set<string>
}

/** What one denies the other one says. */
function contradicts(one: Negation, other: Negation): boolean {
  return [...one.denied].some((word) => other.asserted.has(word))
}

function analyzeNegation(words: readonly Word[]): Negation {
  const [inside, outside] = [new Set<string>(), new Set<string>()]
  let [count, conditions, reach] = [0, 0, 0]
  let clause: string[] = []
  words.forEach(({ text, endsClause }, index) => {
    const next = words[index + 1]?.text
    if (CONDITION_WORDS.has(text)) conditions++
    if (startsNegation(text, next)) {
      // "neither … nor" and "not … nor" deny once.
      if (text !== 'nor') count++
      reach = MAX_SCOPE
      // "Personal data must not be logged" denies what stands before it as well.
      if (next === 'be') for (const word of clause) [outside.delete(word), inside.add(word)]
    } else if (reach > 0 && SCOPE_ENDERS.has(text)) reach = 0
    else if (isContentWord(text)) {
      ;(reach > 0 ? inside : outside).add(stem(text))
      clause.push(stem(text))
      reach = Math.max(0, reach - 1)
    }
    if (endsClause) [reach, clause] = [0, []]
  })
  return { count, conditions, denied: difference(inside, outside), asserted: difference(outside, inside) }
}

/** Words that the comparison of negations has dealt with. */
export function isNegationWord(word: string): boolean {
  return NEGATORS.has(word) || NEGATING_FIRST.has(word)
}

function startsNegation(text: string, next: string | undefined): boolean {
  return NEGATORS.has(text) || (next !== undefined && NEGATING_PAIRS.has(`${text} ${next}`))
}

function difference(set: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> {
  return new Set([...set].filter((word) => !other.has(word)))
}
