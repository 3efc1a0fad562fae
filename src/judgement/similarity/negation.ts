import type { Word } from './tokenizer.ts'
import { isContentWord, stem } from './tokenizer.ts'

/**
 * Words that negate or exclude the words after them. Other languages: the most common only, as the embedder is English.
 */
const NEGATORS = new Set(
  (
    'not no never none nobody nothing nowhere neither nor without avoid avoids avoiding avoided stop stops stopping stopped refrain ' +
    'refrains refraining cease ceases abstain skip skips skipping skipped omit omits omitting omitted forbid forbids forbidden ' +
    'prohibit prohibits prohibited ban bans banned prevent prevents preventing lack lacks lacking against unless except excluding ' +
    'hardly barely forgo ' +
    'nicht kein keine keinen nie ohne statt pas jamais sans aucun nunca sin sem não nie bez не нет без никогда 不 没 无 否 勿'
  ).split(' '),
)
const NEGATING_PAIRS = new Set(['instead of', 'rather than', 'opposed to', 'far from', 'hold off', 'opt out'])
const NEGATING_FIRST = new Set([...NEGATING_PAIRS].map((pair) => pair.split(' ')[0] ?? pair))
/** Words that restrict a statement, which makes it differ from the unconditional one. */
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

/** Maximum scope of a negation, in content words. */
const MAX_SCOPE = 6
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

/** Whether one statement negates, excludes or restricts something that the other does not. */
export function negationsDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const [negationA, negationB] = [analyzeNegation(a), analyzeNegation(b)]
  if (negationA.count !== negationB.count || negationA.conditions !== negationB.conditions) return true
  return contradicts(negationA, negationB) || contradicts(negationB, negationA)
}

interface Negation {
  count: number
  conditions: number
  /** Stems that occur only inside the scope of a negation. */
  denied: Set<string>
  /** Stems that occur only outside of it. */
  asserted: Set<string>
}

function contradicts(a: Negation, b: Negation): boolean {
  return [...a.denied].some((word) => b.asserted.has(word))
}

export function analyzeNegation(words: readonly Word[]): Negation {
  const [inside, outside] = [new Set<string>(), new Set<string>()]
  let [count, conditions, scope] = [0, 0, 0]
  let clause: string[] = []
  words.forEach(({ text, endsClause }, index) => {
    const next = words[index + 1]?.text
    if (CONDITION_WORDS.has(text)) conditions++
    if (startsNegation(text, next)) {
      // "neither … nor" and "not … nor" count as one negation.
      if (text !== 'nor') count++
      scope = MAX_SCOPE
      // Passive voice: "Personal data must not be logged" negates the words before it too.
      if (next === 'be') for (const word of clause) [outside.delete(word), inside.add(word)]
    } else if (scope > 0 && SCOPE_ENDERS.has(text)) scope = 0
    else if (isContentWord(text)) {
      ;(scope > 0 ? inside : outside).add(stem(text))
      clause.push(stem(text))
      scope = Math.max(0, scope - 1)
    }
    if (endsClause) [scope, clause] = [0, []]
  })
  return { count, conditions, denied: difference(inside, outside), asserted: difference(outside, inside) }
}

export function isNegationWord(word: string): boolean {
  return NEGATORS.has(word) || NEGATING_FIRST.has(word)
}

function startsNegation(text: string, next: string | undefined): boolean {
  return NEGATORS.has(text) || (next !== undefined && NEGATING_PAIRS.has(`${text} ${next}`))
}

function difference(set: ReadonlySet<string>, other: ReadonlySet<string>): Set<string> {
  return new Set([...set].filter((word) => !other.has(word)))
}
