import { containAntonyms } from './antonyms.ts'
import { toCommonForms } from './counterpart-phrases.ts'
import { stripFiller } from './filler.ts'
import { isNegationWord, negationsDiffer } from './negation.ts'
import { properNamesDiffer } from './proper-names.ts'
import { amountsDiffer } from './quantities.ts'
import { affirmsRefused } from './refusal.ts'
import { areSynonyms } from './synonyms.ts'
import type { Word } from './tokenizer.ts'
import { contentStems, isContentWord, stem, tokenize, wordTexts } from './tokenizer.ts'
import { optionLettersDiffer, relationReversed, relationsSwapped, wordOrderDiffers } from './word-order.ts'

export type ContradictionKind = 'negation' | 'numbers' | 'opposites'

/** A canonical form that ignores spelling, case, punctuation, Unicode form and filler, but keeps the meaning. */
export function normalizeStatement(text: string): string {
  return parseStatement(text).normalized
}

/** A statement that is compared with several others. */
export interface ParsedStatement {
  normalized: string
  words: readonly Word[]
}

/** Votes are compared with each other again and again, and many agents recommend the same. */
const MAX_KNOWN_STATEMENTS = 500
const MAX_KNOWN_LENGTH = 400
const knownStatements = new Map<string, ParsedStatement>()

export function parseStatement(text: string): ParsedStatement {
  const known = knownStatements.get(text)
  if (known) return known
  const parsed = parseWords(text)
  if (knownStatements.size >= MAX_KNOWN_STATEMENTS) knownStatements.clear()
  if (text.length <= MAX_KNOWN_LENGTH) knownStatements.set(text, parsed)
  return parsed
}

function parseWords(text: string): ParsedStatement {
  const words = tokenize(text)
  // A text of punctuation alone must not equal the empty text.
  const normalized = stripFiller(words).map(formatWord).join(' ') || text.normalize('NFKC').trim().toLowerCase()
  return { normalized, words }
}

/** Why two similar statements must not be merged, or `undefined`. Symmetric. */
export function findContradiction(a: string, b: string): ContradictionKind | undefined {
  return contradictionBetween(parseStatement(a), parseStatement(b))
}

export function contradictionBetween(a: ParsedStatement, b: ParsedStatement): ContradictionKind | undefined {
  if (a.normalized === b.normalized) return undefined
  const [statedA, statedB] = [a.words, b.words]
  const [wordsA, wordsB] = negationsDiffer(statedA, statedB) ? toCommonForms(statedA, statedB) : [statedA, statedB]
  if (negationsDiffer(wordsA, wordsB)) return 'negation'
  if (amountsDiffer(wordTexts(wordsA), wordTexts(wordsB))) return 'numbers'
  return isContrary(wordsA.slice(0, MAX_COMPARED_WORDS), wordsB.slice(0, MAX_COMPARED_WORDS)) ? 'opposites' : undefined
}

/** Bounds the quadratic comparison of words; longer texts are unreliable for embeddings anyway. */
const MAX_COMPARED_WORDS = 300

function isContrary(a: readonly Word[], b: readonly Word[]): boolean {
  return (
    containAntonyms(a, b) ||
    affirmsRefused(a, b) ||
    optionLettersDiffer(a, b) ||
    properNamesDiffer(a, b) ||
    relationReversed(a, b)
  )
}

/** An embedder may truncate a longer text, and the difference may be in the part it does not see. */
const MAX_RELIABLE_LENGTH = 800

/**
 * Whether the embedding similarity of two statements without a contradiction means nothing: they differ in a few words
 * only, which makes any two statements look alike; or they are long; or in a script the model hardly knows.
 */
export function isEmbeddingUnreliable(a: string, b: string): boolean {
  if (Math.max(a.length, b.length) > MAX_RELIABLE_LENGTH || isNonLatin(a) || isNonLatin(b)) return true
  const [wordsA, wordsB] = [tokenize(a), tokenize(b)]
  return (
    conjunctionsDiffer(wordsA, wordsB) ||
    negationsDiffer(wordsA, wordsB) ||
    fewWordsDiffer(wordsA, wordsB) ||
    wordsRearranged(wordsA, wordsB)
  )
}

function fewWordsDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const [stemsOfA, stemsOfB] = [keyStems(a), keyStems(b)]
  const [onlyInA, onlyInB] = [unmatched(stemsOfA, stemsOfB), unmatched(stemsOfB, stemsOfA)]
  const [fewest, most] = [Math.min(onlyInA.length, onlyInB.length), Math.max(onlyInA.length, onlyInB.length)]
  if (most === 0) return hedgeWords(a) !== hedgeWords(b) || prepositionsDiffer(a, b)
  const shared = Math.max(stemsOfA.size - onlyInA.length, stemsOfB.size - onlyInB.length)
  return fewest <= 1 || shared >= most || (shared === 0 && mayBeName(a) && mayBeName(b))
}

/** Up to three content words and no others: "john smith". Embeddings put names close together. */
function mayBeName(words: readonly Word[]): boolean {
  return words.length <= 3 && words.every(({ text }) => isContentWord(text))
}

/** The same words in another arrangement mostly mean the same, but not always: only a model can tell. */
function wordsRearranged(a: readonly Word[], b: readonly Word[]): boolean {
  const [firstOfA, firstOfB] = [a.slice(0, MAX_COMPARED_WORDS), b.slice(0, MAX_COMPARED_WORDS)]
  return relationsSwapped(firstOfA, firstOfB) || wordOrderDiffers(firstOfA, firstOfB)
}

/** Cosine similarity; 0 when a vector is empty, not finite or of a different length. */
export function cosineSimilarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return 0
  let [dot, squaresA, squaresB] = [0, 0, 0]
  for (let index = 0; index < a.length; index++) {
    const [x, y] = [a[index] ?? 0, b[index] ?? 0]
    dot += x * y
    squaresA += x * x
    squaresB += y * y
  }
  const cosine = dot / (Math.sqrt(squaresA) * Math.sqrt(squaresB))
  return Number.isFinite(cosine) ? Math.max(-1, Math.min(1, cosine)) : 0
}

/** Share of common elements from 0 to 1 (Sørensen–Dice): the measure without an embedder. */
export function diceCoefficient(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((word) => b.has(word)).length
  return a.size + b.size === 0 ? 0 : (2 * shared) / (a.size + b.size)
}

export function contentStemSet(text: string): Set<string> {
  return new Set(contentStems(tokenize(text)))
}

/** Keeps the comma after a negation: "No, use it" differs from "no use". */
function formatWord({ text, endsClause }: Word, index: number, words: readonly Word[]): string {
  return endsClause && index < words.length - 1 && isNegationWord(text) ? `${text},` : text
}

const HEDGES =
  /^(?:all|any|both|most|more|less|least|some|few|little|much|many|same|own|now|ever|even|still|yet|may|might|can|could|up|down|out|off|over|under|this|that|too|very|about)$/

/** Quantifiers and modals that change how much, how often or how certainly something is stated. */
function hedgeWords(statement: readonly Word[]): string {
  const words = statement.map(({ text: word }) => (word === 'each' || word === 'every' ? 'all' : word))
  const hedges = words.flatMap((word, index) =>
    HEDGES.test(word) ? (words[index - 1] === 'a' ? `a ${word}` : word) : [],
  )
  return [...new Set(hedges)].sort().join(' ')
}

const PREPOSITIONS =
  /^(?:to|of|in|on|at|by|for|from|with|without|as|into|onto|over|under|about|per|via|through|within|during|between|behind|before|after|until|against|around|across|pending|toward|towards|upon|beyond|near|past)$/

/**
 * Whether the prepositions alone make the difference: "approve with changes" and "approve the change" have the same
 * content words, and so have "deploy with approval" and "deploy for approval".
 */
function prepositionsDiffer(wordsA: readonly Word[], wordsB: readonly Word[]): boolean {
  const [prepositionsA, prepositionsB] = [prepositionsIn(wordsA), prepositionsIn(wordsB)]
  if ((prepositionsA === '') !== (prepositionsB === '')) return true
  return prepositionsA !== prepositionsB && contentStems(wordsA).join(' ') === contentStems(wordsB).join(' ')
}

/** "Redis or Memcached" is a choice, "Redis and Memcached" is both. */
function conjunctionsDiffer(a: readonly Word[], b: readonly Word[]): boolean {
  const has = (words: readonly Word[], conjunction: string) => words.some(({ text }) => text === conjunction)
  return has(a, 'or') !== has(b, 'or')
}

/** Skips the adjective in "the pending review", and "instead of", which counts as a negation. */
function prepositionsIn(words: readonly Word[]): string {
  const prepositions = words.filter(({ text }, index) => {
    const previous = words[index - 1]?.text ?? ''
    return PREPOSITIONS.test(text) && !(text === 'pending' && /^(?:the|a)$/.test(previous)) && previous !== 'instead'
  })
  return [...new Set(wordTexts(prepositions))].sort().join(' ')
}

/** Verbs without meaning in a recommendation: "use bcrypt to hash" equals "hash with bcrypt". */
const EMPTY_VERBS = new Set(
  'use adopt choose pick select take go recommend suggest prefer favor put make do need perform apply ensure have get'
    .split(' ')
    .map(stem),
)

/** Content stems without negations, which `findContradiction` compares, and without empty verbs. */
function keyStems(statement: readonly Word[]): Set<string> {
  const words = statement.filter(({ text: word }) => !isNegationWord(word))
  return new Set(contentStems(words).filter((word) => !EMPTY_VERBS.has(word)))
}

function unmatched(words: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...words].filter((word) => !others.has(word) && ![...others].some((other) => areSynonyms(word, other)))
}

/** Allows for a foreign name or two in a Latin text. */
function isNonLatin(text: string): boolean {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  return letters > 0 && (text.match(/\p{Script=Latin}/gu)?.length ?? 0) < 0.8 * letters
}
