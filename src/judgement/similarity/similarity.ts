import { containAntonyms } from './antonyms.ts'
import { stripFiller } from './filler.ts'
import { isNegationWord, negationsDiffer } from './negation.ts'
import { properNamesDiffer } from './proper-names.ts'
import { amountsDiffer } from './quantities.ts'
import { areSynonyms } from './synonyms.ts'
import type { Word } from './tokenizer.ts'
import { contentStems, stem, tokenize } from './tokenizer.ts'
import { optionLettersDiffer, relationsSwapped, wordOrderDiffers } from './word-order.ts'

export type ContradictionKind = 'negation' | 'numbers' | 'opposites'

/** Spelling, case, punctuation, unicode form and filler words do not matter. Never merges what differs in meaning. */
export function normalizeStatement(text: string): string {
  const words = stripFiller(tokenize(text))
  // What consists of punctuation alone is not nothing.
  return words.map(formatWord).join(' ') || text.normalize('NFKC').trim().toLowerCase()
}

/** Why two statements that look alike must not be merged. Symmetric. */
export function findContradiction(a: string, b: string): ContradictionKind | undefined {
  if (normalizeStatement(a) === normalizeStatement(b)) return undefined
  const [mine, theirs] = [tokenize(a), tokenize(b)]
  if (negationsDiffer(mine, theirs)) return 'negation'
  if (amountsDiffer(wordTexts(mine), wordTexts(theirs))) return 'numbers'
  return isContrary(mine.slice(0, MAX_COMPARED_WORDS), theirs.slice(0, MAX_COMPARED_WORDS)) ? 'opposites' : undefined
}

/** Every word is held against every other one: beyond so many, which are doubtful anyway, that takes too long. */
const MAX_COMPARED_WORDS = 300

function isContrary(a: readonly Word[], b: readonly Word[]): boolean {
  return (
    containAntonyms(a, b) ||
    optionLettersDiffer(a, b) ||
    properNamesDiffer(a, b) ||
    relationsSwapped(a, b) ||
    wordOrderDiffers(a, b)
  )
}

/** Beyond it an embedder may not have seen the end of a text, and what differs may stand there. */
const MAX_RELIABLE_LENGTH = 800

/**
 * True when vectors say nothing about two statements although nothing forbids to merge them: they share most words and
 * differ in a few, which makes any two look alike; or they are long; or in letters that the model hardly knows.
 */
export function isEmbeddingUnreliable(a: string, b: string): boolean {
  if (Math.max(a.length, b.length) > MAX_RELIABLE_LENGTH || isNonLatin(a) || isNonLatin(b)) return true
  const [mine, theirs] = [keyStems(a), keyStems(b)]
  const [lonely, others] = [unmatched(mine, theirs), unmatched(theirs, mine)]
  const [fewest, most] = [Math.min(lonely.length, others.length), Math.max(lonely.length, others.length)]
  if (most === 0) return hedgeWords(a) !== hedgeWords(b) || prepositionsDiffer(a, b)
  return fewest <= 1 || Math.max(mine.size - lonely.length, theirs.size - others.length) >= most
}

/** The cosine of the angle between two vectors; 0 when one of them is empty, unknown or of another length. */
export function cosineSimilarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return 0
  let [dot, left, right] = [0, 0, 0]
  for (let index = 0; index < a.length; index++) {
    const [x, y] = [a[index] ?? 0, b[index] ?? 0]
    dot += x * y
    left += x * x
    right += y * y
  }
  const length = Math.sqrt(left) * Math.sqrt(right)
  const found = dot / length
  return Number.isFinite(found) ? Math.max(-1, Math.min(1, found)) : 0
}

/** How many of their content words two statements share, from 0 to 1: what is left to go by without an embedder. */
export function diceCoefficient(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((word) => b.has(word)).length
  return a.size + b.size === 0 ? 0 : (2 * shared) / (a.size + b.size)
}

/** The content words of a statement, without their endings. */
export function contentStemSet(text: string): Set<string> {
  return new Set(contentStems(tokenize(text)))
}

/** "No, use it" is not "no use": a comma behind a negation stays. */
function formatWord({ text, endsClause }: Word, index: number, words: readonly Word[]): string {
  return endsClause && index < words.length - 1 && isNegationWord(text) ? `${text},` : text
}

const HEDGES =
  /^(?:all|any|both|most|more|less|least|some|few|little|much|many|same|own|now|ever|even|still|yet|may|might|can|could|up|down|out|off|over|under|this|that|too|very|about)$/

/** Small words that change how much, how often or how surely something is said. */
function hedgeWords(text: string): string {
  const words = tokenize(text).map(({ text: word }) => (word === 'each' || word === 'every' ? 'all' : word))
  const found = words.flatMap((word, index) =>
    HEDGES.test(word) ? (words[index - 1] === 'a' ? `a ${word}` : word) : [],
  )
  return [...new Set(found)].sort().join(' ')
}

const PREPOSITIONS =
  /^(?:to|of|in|on|at|by|for|from|with|without|as|into|onto|over|under|about|per|via|through|within|during|between|behind|before|after|until|against|around|across|pending|toward|towards|upon|beyond|near|past)$/

/**
 * "Approve with changes" and "approve the change" have the same telling words and are two things; so are "deploy with
 * approval" and "deploy for approval". Where one says how things hang together and the other does not, or says it otherwise,
 * vectors are no help.
 */
function prepositionsDiffer(a: string, b: string): boolean {
  const [mine, theirs] = [tokenize(a), tokenize(b)]
  const [one, other] = [prepositionsIn(mine), prepositionsIn(theirs)]
  if ((one === '') !== (other === '')) return true
  return one !== other && contentStems(mine).join(' ') === contentStems(theirs).join(' ')
}

/** "The pending review" relates nothing, and "instead of" is the guard's business. */
function prepositionsIn(words: readonly Word[]): string {
  const found = words.filter(({ text }, index) => {
    const before = words[index - 1]?.text ?? ''
    return PREPOSITIONS.test(text) && !(text === 'pending' && /^(?:the|a)$/.test(before)) && before !== 'instead'
  })
  return [...new Set(wordTexts(found))].sort().join(' ')
}

/** Verbs that a recommendation can have or lack: "use bcrypt to hash" is "hash with bcrypt". */
const EMPTY_VERBS = new Set(
  'use adopt choose pick select take go recommend suggest prefer favor put make do need perform apply ensure have get'
    .split(' ')
    .map(stem),
)

/** The words that make a statement what it is; negations are the guard's business. */
function keyStems(text: string): Set<string> {
  const words = tokenize(text).filter(({ text: word }) => !isNegationWord(word))
  return new Set(contentStems(words).filter((word) => !EMPTY_VERBS.has(word)))
}

function unmatched(words: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...words].filter((word) => !others.has(word) && ![...others].some((other) => areSynonyms(word, other)))
}

function wordTexts(words: readonly Word[]): string[] {
  return words.map(({ text }) => text)
}

/** More than a foreign name or two is not in Latin letters. */
function isNonLatin(text: string): boolean {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  return letters > 0 && (text.match(/\p{Script=Latin}/gu)?.length ?? 0) < 0.8 * letters
}
