import { TroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'
import type { Knowledge, KnowledgeDocument, KnowledgeKind, KnowledgeSelection } from '../kernel/knowledge.ts'
import type { VectorStore } from '../store/store.ts'
import type { IndexEntry } from './knowledge-index.ts'
import { KnowledgeIndex } from './knowledge-index.ts'
import { hasTags, KNOWLEDGE_KINDS, NO_VECTOR, requireEmbedder, searchEntries } from './search-knowledge.ts'
import type { VectorMaker } from './vector-maker.ts'
import { createVectorMaker } from './vector-maker.ts'

/** An interrupted reindexing keeps what it has done so far. */
const REINDEX_BATCH = 64

export interface KnowledgeProgress {
  done: number
  total: number
}

export interface ReindexReport {
  documents: number
  /** The embedder of the vectors; `null` if there is none, so that words are compared. */
  embedder: string | null
}

/** The knowledge of a project in its store, searched by comparing all of a kind: exact, and fast enough for some ten thousand. */
export interface EmbeddedKnowledge extends Knowledge {
  list(kind: KnowledgeKind): Promise<KnowledgeDocument[]>
  /** Replaces documents by others at once. */
  replace(
    kind: KnowledgeKind,
    change: { put: readonly KnowledgeDocument[]; remove: readonly string[] },
    signal?: AbortSignal,
  ): Promise<void>
  /** Makes the vectors of all documents with the embedder of this process. */
  reindex(onProgress?: (progress: KnowledgeProgress) => void, signal?: AbortSignal): Promise<ReindexReport>
  /** Rejects with `invalid_input` if vectors come from another embedder. */
  checkEmbedder(kind: KnowledgeKind): Promise<void>
  /** Why words are compared instead of meanings; `undefined` if an embedder was used or nothing was embedded so far. */
  lexicalReason(): string | undefined
}

export interface KnowledgeDeps {
  store: VectorStore
  embedder: Embedder | undefined
  newRevision: () => string
}

/** Creates the knowledge of each project of a store; all share what they have in memory. */
export function knowledgeByProject(deps: KnowledgeDeps): (project: string) => EmbeddedKnowledge {
  const index = new KnowledgeIndex(deps.store, deps.newRevision)
  const vectors = createVectorMaker(deps.embedder)
  return (project) => projectKnowledge({ index, vectors, project })
}

interface KnowledgeParts {
  index: KnowledgeIndex
  vectors: VectorMaker
  project: string
}

function projectKnowledge(parts: KnowledgeParts): EmbeddedKnowledge {
  const { index, vectors, project } = parts
  const entries = (kind: KnowledgeKind) => index.entries({ project, kind })
  const replace: EmbeddedKnowledge['replace'] = async (kind, { put, remove }, signal) => {
    if (put.length === 0 && remove.length === 0) return
    put.forEach(checkDocument)
    const embedded = await embedChanged(parts, { kind, documents: put }, signal)
    await index.change({ project, kind }, { put: embedded, remove })
  }
  return {
    replace,
    async add(documents, signal) {
      documents.forEach(checkDocument)
      for (const kind of KNOWLEDGE_KINDS)
        await replace(kind, { put: documents.filter((document) => document.kind === kind), remove: [] }, signal)
    },
    search: async (query, signal) => searchEntries(vectors, { query, entries: await entries(query.kind) }, signal),
    get: async (kind, ids) => (await index.entriesWithIds({ project, kind }, ids)).map(({ document }) => document),
    forget: (selection) => forgetEntries(parts, selection),
    list: async (kind) => (await entries(kind)).map(({ document }) => document),
    checkEmbedder: async (kind) => requireEmbedder(await entries(kind), vectors.id),
    reindex: (onProgress, signal) => reindexEntries(parts, onProgress, signal),
    lexicalReason: () => vectors.problem(),
  }
}

/** The entries of documents; one whose text is stored already keeps its vector. */
async function embedChanged(
  { index, vectors, project }: KnowledgeParts,
  { kind, documents }: { kind: KnowledgeKind; documents: readonly KnowledgeDocument[] },
  signal?: AbortSignal,
): Promise<IndexEntry[]> {
  const scope = { project, kind }
  const known = await index.entriesWithIds(
    scope,
    documents.map(({ id }) => id),
  )
  const byId = new Map(known.map((entry) => [entry.document.id, entry]))
  const reusable = (document: KnowledgeDocument) => {
    const entry = byId.get(document.id)
    return entry?.document.text === document.text && entry.embedder === vectors.id ? entry : undefined
  }
  // Vectors of two embedders must never be in one collection; a document without a vector is found by its words until `reindex`.
  const current = await index.embedder(scope)
  const isMixed = current !== null && current !== vectors.id
  const changed = isMixed ? [] : documents.filter((document) => !reusable(document))
  const made = await vectors.embed(
    changed.map(({ text }) => text),
    signal,
  )
  const vectorById = new Map(made?.map((vector, position) => [changed[position]?.id, vector]))
  return documents.map((document) => {
    const vector = vectorById.get(document.id) ?? reusable(document)?.vector ?? NO_VECTOR
    return { document, vector, embedder: vector.length > 0 ? vectors.id : null }
  })
}

async function forgetEntries({ index, project }: KnowledgeParts, selection: KnowledgeSelection): Promise<number> {
  const { ids, tags } = selection
  const wanted = ids && new Set(ids)
  let forgotten = 0
  for (const kind of selection.kind ? [selection.kind] : KNOWLEDGE_KINDS) {
    const entries = await index.entries({ project, kind })
    const remove = entries
      .filter(({ document }) => (!wanted || wanted.has(document.id)) && hasTags(document, tags))
      .map(({ document }) => document.id)
    if (remove.length > 0) await index.change({ project, kind }, { put: [], remove })
    forgotten += remove.length
  }
  return forgotten
}

async function reindexEntries(
  { index, vectors, project }: KnowledgeParts,
  onProgress: ((progress: KnowledgeProgress) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<ReindexReport> {
  const stale: { kind: KnowledgeKind; entry: IndexEntry }[] = []
  for (const kind of KNOWLEDGE_KINDS) {
    for (const entry of await index.entries({ project, kind }))
      if (entry.embedder !== vectors.id) stale.push({ kind, entry })
  }
  for (let start = 0; start < stale.length; start += REINDEX_BATCH) {
    onProgress?.({ done: start, total: stale.length })
    const batch = stale.slice(start, start + REINDEX_BATCH)
    const made = await vectors.embed(
      batch.map(({ entry }) => entry.document.text),
      signal,
    )
    if (!made) throw noEmbedderError(vectors)
    const renewed = batch.map(({ kind, entry }, position) => ({
      kind,
      entry: { document: entry.document, vector: made[position] ?? NO_VECTOR, embedder: vectors.id },
    }))
    for (const kind of KNOWLEDGE_KINDS) {
      const put = renewed.filter((item) => item.kind === kind).map(({ entry }) => entry)
      if (put.length > 0) await index.change({ project, kind }, { put })
    }
  }
  onProgress?.({ done: stale.length, total: stale.length })
  return { documents: stale.length, embedder: vectors.id }
}

function noEmbedderError(vectors: VectorMaker): TroupeError {
  return new TroupeError('no_model', `\`embedder\`: no vectors can be made: ${vectors.problem() ?? 'unknown reason'}`, {
    hint: 'nothing was changed; without an embedder, search compares words and needs no index',
  })
}

function checkDocument({ id, kind, text }: KnowledgeDocument): void {
  if (typeof id === 'string' && id !== '' && typeof text === 'string' && KNOWLEDGE_KINDS.includes(kind)) return
  throw new TroupeError('invalid_input', '`documents`: a document lacks a valid `id`, `kind` or `text`', {
    hint: `give each document an id, a text, and one of these kinds: ${KNOWLEDGE_KINDS.join(', ')}`,
  })
}
