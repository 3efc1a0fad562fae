import { TroupeError } from '../errors.ts'
import type { KnowledgeDocument, KnowledgeKind, KnowledgeMatch, KnowledgeQuery } from '../kernel/knowledge.ts'
import type { IndexEntry } from './knowledge-index.ts'
import { documentWeight } from './knowledge-score.ts'
import { lexicalSimilarities } from './lexical-search.ts'
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
