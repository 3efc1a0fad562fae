import { TroupeError } from '../errors.ts'
import { isContentWord, stem } from '../judgement/similarity/tokenizer.ts'
import type {
  KnowledgeDocument,
  KnowledgeKind,
  KnowledgeMatch,
  KnowledgeOutcome,
  KnowledgeQuery,
} from '../kernel/knowledge.ts'
import type { IndexEntry } from './knowledge-index.ts'
import type { VectorMaker } from './vector-maker.ts'

const DEFAULT_LIMIT = 10
export const KNOWLEDGE_KINDS: readonly KnowledgeKind[] = ['agent_collaboration', 'document']
export const NO_VECTOR = new Float32Array(0)

/** The best entries by similarity × weight; entries without a vector are compared by their words. */
export async function searchEntries(
  vectors: VectorMaker,
  { query, entries }: { query: KnowledgeQuery; entries: readonly IndexEntry[] },
  signal?: AbortSignal,
): Promise<KnowledgeMatch[]> {
  checkQuery(query)
  const useVectors = query.method !== 'lexical'
  if (useVectors) requireEmbedder(entries, vectors.id)
  const candidates = entries
    .filter(({ document }) => hasTags(document, query.tags))
    .map((entry) => ({ ...entry, weight: documentWeight(entry.document, query.now) }))
    .filter(({ weight }) => weight > 0)
  const hasVectors = candidates.some(({ embedder }) => embedder !== null)
  const [vector] = (useVectors && hasVectors ? await vectors.embed([query.text], signal) : undefined) ?? []
  const byWords = candidates.filter((candidate) => !vector || candidate.embedder === null)
  const shares = lexicalSimilarities(
    query.text,
    byWords.map(({ document }) => document.text),
  )
  const similarityByWords = new Map(byWords.map(({ document }, position) => [document.id, shares[position] ?? 0]))
  return candidates
    .map(({ document, weight, vector: other }): KnowledgeMatch => {
      const lexical = similarityByWords.get(document.id)
      const similarity = lexical ?? Math.max(0, dotProduct(vector ?? NO_VECTOR, other))
      return {
        document,
        similarity,
        score: similarity * weight,
        method: lexical === undefined ? 'embedding' : 'lexical',
      }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.document.id < b.document.id ? -1 : 1))
    .slice(0, query.limit ?? DEFAULT_LIMIT)
}

/** Vectors of different embedders have nothing to do with each other: their similarity would be noise. */
export function requireEmbedder(entries: readonly IndexEntry[], embedder: string | null): void {
  if (embedder === null) return
  const foreign = entries.find((entry) => entry.embedder !== null && entry.embedder !== embedder)
  if (!foreign) return
  throw new TroupeError(
    'invalid_input',
    `\`embedder\`: the knowledge of this project was made with '${foreign.embedder}', not with '${embedder}'`,
    {
      hint: 'nothing is lost: `troupe knowledge reindex` makes the vectors anew, or configure the other embedder again',
      responsible: 'operator',
    },
  )
}

export function hasTags({ tags = {} }: KnowledgeDocument, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([name, value]) => tags[name] === value)
}

function checkQuery({ text, limit = DEFAULT_LIMIT, kind }: KnowledgeQuery): void {
  const problem =
    typeof text !== 'string' || text.trim() === ''
      ? '`text` is empty'
      : !Number.isInteger(limit) || limit < 1
        ? '`limit` is not a positive whole number'
        : !KNOWLEDGE_KINDS.includes(kind)
          ? `\`kind\` is not one of ${KNOWLEDGE_KINDS.join(', ')}`
          : undefined
  if (problem)
    throw new TroupeError('invalid_input', problem, { hint: 'example: { text, kind: "document", limit: 3 }' })
}

/** The cosine similarity of unit vectors. */
function dotProduct(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0)
  return sum
}

const DAY_MS = 86_400_000
/** The age at which the newer half of the weight is halved. */
const HALF_LIFE_DAYS = 90
/** A good answer from long ago still counts for half. */
const OLDEST_WEIGHT = 0.5
/** The weight of an answer that nobody rated: less than that of one that was rated as middling. */
const UNRATED_WEIGHT = 0.5
/** Ratings of 1 and 2 are no examples to follow. */
const WEIGHT_BY_RATING: Readonly<Record<number, number>> = { 1: 0, 2: 0, 3: 0.6, 4: 0.9, 5: 1 }

/** The weight of a document besides its similarity: that of its outcome times that of its age; 0 for a bad outcome. Documents without an outcome have 1. */
function documentWeight({ outcome, at }: KnowledgeDocument, now: number): number {
  return outcome ? outcomeWeight(outcome) * ageWeight(now - at) : 1
}

function outcomeWeight({ success, rating }: KnowledgeOutcome): number {
  if (!success) return 0
  return rating === undefined ? UNRATED_WEIGHT : (WEIGHT_BY_RATING[Math.round(rating)] ?? 0)
}

/** From 1 for something new, halving every 90 days, down to one half. */
function ageWeight(age_ms: number): number {
  const age_days = Math.max(0, age_ms) / DAY_MS
  return OLDEST_WEIGHT + (1 - OLDEST_WEIGHT) * 2 ** (-age_days / HALF_LIFE_DAYS)
}

/** Longer queries are cut: they would only cost time. */
const MAX_QUERY_LENGTH = 4000
const WORD = /[\p{L}\p{N}_]+/gu

/**
 * How much of the query's words each text has, from 0 to 1, where a rare word counts more than one that many of the texts have (inverse document
 * frequency).
 */
function lexicalSimilarities(query: string, texts: readonly string[]): number[] {
  const stems = new Map<string, string>()
  const queryStems = new Set(stemsIn(query.slice(0, MAX_QUERY_LENGTH), stems))
  const shared = texts.map((text) => new Set(stemsIn(text, stems).filter((word) => queryStems.has(word))))
  const frequency = new Map<string, number>()
  for (const words of shared) for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1)
  const weight = (word: string) => Math.log(1 + texts.length / (1 + (frequency.get(word) ?? 0))) + 0.1
  const total = sum([...queryStems].map(weight))
  return shared.map((words) => (total === 0 ? 0 : sum([...words].map(weight)) / total))
}

/** Stems of the content words; a word is reduced to its stem once for all texts. */
function stemsIn(text: string, known: Map<string, string>): string[] {
  const words = text.normalize('NFKC').toLowerCase().match(WORD) ?? []
  return words.filter(isContentWord).map((word) => {
    const stemmed = known.get(word) ?? stem(word)
    known.set(word, stemmed)
    return stemmed
  })
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
