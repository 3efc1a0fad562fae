import { isContentWord, stem } from '../similarity/tokenizer.ts'

/*
 * Lexical relevance of passages for a question: BM25 over words and the parts of identifiers, so that "session creation" finds
 * `createSession` and `session_created`. Pure and linear in the length of the texts.
 */

/** A part of a query; a part with weight 0.5 counts half as much as the question itself. */
export interface QueryPart {
  text: string
  weight: number
}

const SATURATION = 1.2
const LENGTH_WEIGHT = 0.6
const WORD = /[\p{L}\p{N}_$]+/gu
/** A longer query adds noise and time, not precision. */
const MAX_QUERY_TERMS = 200
const MAX_TERM_LENGTH = 60

/** The relevance of a passage, and the words of the query that it has as the query spells them, those that count most first. */
export interface LexicalMatch {
  /** From 0 to 1: 1 would be a passage in which every word of the query is frequent. */
  score: number
  terms: string[]
}

export function lexicalRelevance(query: readonly QueryPart[], passages: readonly string[]): LexicalMatch[] {
  const { weights, spellings } = queryWeights(query)
  const frequencies = passages.map((passage) => termFrequencies(passage, weights))
  const documents = new Map<string, number>()
  for (const { counts } of frequencies)
    for (const term of counts.keys()) documents.set(term, (documents.get(term) ?? 0) + 1)
  const meanLength = frequencies.reduce((sum, { length }) => sum + length, 0) / Math.max(1, passages.length) || 1
  const rarity = (term: string) => {
    const found = documents.get(term) ?? 0
    return Math.log(1 + (passages.length - found + 0.5) / (found + 0.5))
  }
  // Words that no passage has do not count: otherwise a wordy question would make every passage irrelevant.
  let ideal = 0
  for (const [term, weight] of weights) if (documents.has(term)) ideal += weight * rarity(term) * (SATURATION + 1)
  return frequencies.map(({ counts, length }) => {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / meanLength)
    const parts = [...counts].map(([term, count]) => {
      const part = ((weights.get(term) ?? 0) * rarity(term) * count * (SATURATION + 1)) / (count + norm)
      return { term, part }
    })
    const score = parts.reduce((sum, { part }) => sum + part, 0)
    return {
      score: ideal === 0 ? 0 : score / ideal,
      terms: parts.sort((a, b) => b.part - a.part).map(({ term }) => spellings.get(term) ?? term),
    }
  })
}

function queryWeights(query: readonly QueryPart[]) {
  const weights = new Map<string, number>()
  const spellings = new Map<string, string>()
  for (const { text, weight } of query)
    for (const { term, spelling } of spelledTerms(text)) {
      if (weights.size >= MAX_QUERY_TERMS && !weights.has(term)) break
      weights.set(term, Math.max(weights.get(term) ?? 0, weight))
      if (!spellings.has(term)) spellings.set(term, spelling)
    }
  return { weights, spellings }
}

function termFrequencies(passage: string, wanted: ReadonlyMap<string, number>) {
  const counts = new Map<string, number>()
  let length = 0
  for (const term of terms(passage)) {
    length++
    if (wanted.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1)
  }
  return { counts, length }
}

/** Stems of the content words of a text. An identifier counts whole and by its parts. */
export function* terms(text: string): Generator<string> {
  for (const { term } of spelledTerms(text)) yield term
}

function* spelledTerms(text: string): Generator<{ term: string; spelling: string }> {
  for (const [word] of text.matchAll(WORD)) {
    if (word.length > MAX_TERM_LENGTH) continue
    const parts = identifierParts(word)
    if (parts.length > 1) yield { term: word.toLowerCase(), spelling: word }
    for (const part of parts)
      if (part.length > 1 && isContentWord(part)) yield { term: nounStem(stem(part)), spelling: part }
  }
}

/** `creation` is found by `create`, and `configuration` by `configured`. */
function nounStem(word: string): string {
  return word.replace(/(?<=[a-z]{3}[ts])ion$/, '')
}

function identifierParts(word: string): string[] {
  return word
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[\s_$]+/)
    .filter((part) => part !== '')
}
