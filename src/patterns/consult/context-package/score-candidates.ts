import type { QueryPart } from '../../../judgement/relevance/lexical-relevance.ts'
import { lexicalRelevance } from '../../../judgement/relevance/lexical-relevance.ts'
import type { Embedder } from '../../../kernel/embedder.ts'
import type { Candidate, ScoredCandidate } from './candidate.ts'

/** How words and meaning are combined. */
export interface RelevanceSettings {
  /** Share of the meaning in the score of a passage that was embedded. */
  embeddingWeight: number
  /** Similarity of texts that have nothing to do with each other. */
  similarityFloor: number
  /** Similarity that counts as 1. */
  similarityCeiling: number
  /** Lexical score that counts as 1. */
  lexicalCeiling: number
}

export const RELEVANCE_SETTINGS: RelevanceSettings = {
  embeddingWeight: 0.5,
  similarityFloor: 0.1,
  similarityCeiling: 0.65,
  lexicalCeiling: 0.6,
}

/** Embedding takes some milliseconds for each 100 characters: the best by words are compared by meaning, and the newest statements. */
const MAX_EMBEDDED_BY_WORDS = 24
const MAX_EMBEDDED_STATEMENTS = 40
const MAX_EMBEDDED_CHARACTERS = 400

/** A short message of the user is often a requirement, whatever its words. */
const USER_BONUS = 0.12
const SHORT_STATEMENT = 400

export interface ScoreOptions {
  query: readonly QueryPart[]
  embedder?: Embedder | undefined
  signal?: AbortSignal | undefined
  settings?: RelevanceSettings
}

export interface ScoredCandidates {
  scored: ScoredCandidate[]
  method: 'lexical' | 'lexical and embedding'
}

/** Judges how relevant each candidate is for the question. Without an embedder, or when it fails, by words only. */
export async function scoreCandidates(
  candidates: readonly Candidate[],
  { query, embedder, signal, settings = RELEVANCE_SETTINGS }: ScoreOptions,
): Promise<ScoredCandidates> {
  const matches = lexicalRelevance(
    query,
    candidates.map(({ origin, text }) => `${origin}\n${text}`),
  )
  const lexical = matches.map(({ score }) => Math.min(1, score / settings.lexicalCeiling))
  const similarities = embedder
    ? await similarityByIndex(candidates, lexical, { query, embedder, signal }).catch((error: unknown) => {
        signal?.throwIfAborted()
        if (error instanceof Error) return undefined
        throw error
      })
    : undefined
  const scored = candidates.map((candidate, index): ScoredCandidate => {
    const byWords = lexical[index] ?? 0
    const similarity = similarities?.get(index)
    const byMeaning = similarity === undefined ? undefined : scaleSimilarity(similarity, settings)
    const computed =
      byMeaning === undefined
        ? byWords
        : settings.embeddingWeight * byMeaning + (1 - settings.embeddingWeight) * byWords
    const bonus = isUserStatement(candidate) ? USER_BONUS : 0
    const relevance = candidate.requested ? 1 : Math.max(candidate.score ?? 0, computed + bonus)
    return {
      ...candidate,
      relevance: Math.min(1, relevance * candidate.prior),
      reason: relevanceReason(candidate, { terms: matches[index]?.terms ?? [], byWords, byMeaning }),
    }
  })
  return { scored, method: similarities ? 'lexical and embedding' : 'lexical' }
}

function isUserStatement({ placement, text }: Candidate): boolean {
  return placement.field === 'conversation_excerpts' && placement.from === 'user' && text.length <= SHORT_STATEMENT
}

function scaleSimilarity(similarity: number, { similarityFloor, similarityCeiling }: RelevanceSettings): number {
  return Math.min(1, Math.max(0, (similarity - similarityFloor) / (similarityCeiling - similarityFloor)))
}

/** Similarities to the question, for the candidates that are worth the time. */
async function similarityByIndex(
  candidates: readonly Candidate[],
  lexical: readonly number[],
  { query, embedder, signal }: { query: readonly QueryPart[]; embedder: Embedder; signal: AbortSignal | undefined },
): Promise<Map<number, number>> {
  const open = [...candidates.keys()].filter((index) => !candidates[index]?.requested)
  const byWords = open.toSorted((a, b) => (lexical[b] ?? 0) - (lexical[a] ?? 0)).slice(0, MAX_EMBEDDED_BY_WORDS)
  const statements = open
    .filter((index) => candidates[index]?.source === 'conversation')
    .slice(-MAX_EMBEDDED_STATEMENTS)
  const chosen = [...new Set([...byWords, ...statements])]
  if (chosen.length === 0) return new Map()
  const question = query
    .map(({ text }) => text)
    .join('\n')
    .slice(0, 1000)
  const texts = chosen.map((index) => (candidates[index]?.text ?? '').slice(0, MAX_EMBEDDED_CHARACTERS))
  const [first, ...vectors] = await embedder.embed([question, ...texts], signal)
  return new Map(chosen.map((index, order) => [index, first ? dotProduct(first, vectors[order] ?? first) : 0]))
}

function dotProduct(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0)
  return sum
}

interface RelevanceEvidence {
  terms: readonly string[]
  byWords: number
  byMeaning: number | undefined
}

function relevanceReason(candidate: Candidate, { terms, byWords, byMeaning }: RelevanceEvidence): string {
  if (candidate.requested) return 'named in the request'
  if (candidate.source === 'past_consultation') return 'a similar question was resolved before'
  if (candidate.source === 'document') return 'found in the indexed documents'
  if (candidate.placement.field === 'best_practices' && candidate.score !== undefined)
    return 'a practice for this specialist'
  const shared = terms.slice(0, 3).join(', ')
  if (shared === '' && byMeaning === undefined) return 'said by the user in this conversation'
  if (shared === '') return 'similar in meaning to the question'
  return byMeaning !== undefined && byMeaning > byWords
    ? `similar in meaning to the question; shares ${shared}`
    : `shares ${shared} with the question`
}
