import type { KnowledgeDocument, KnowledgeKind } from '../kernel/knowledge.ts'
import type { VectorCollection, VectorRow, VectorStore } from '../store/store.ts'

/*
 * 1. Every change of a collection replaces its revision in the same transaction. A collection in memory is used only while the stored revision is its
 *    own, so that a process sees what others add and forget.
 * 2. The row with the empty id is the revision; documents have other ids.
 */

const REVISION_ID = ''
/** Bounds memory: 10,000 documents of 1,000 characters take about 40 MB. */
const MAX_COLLECTIONS = 4

/** A stored document and its vector. */
export interface IndexEntry {
  document: KnowledgeDocument
  /** Empty if the document was stored without an embedder. */
  vector: Float32Array
  /** The embedder of the vector; `null` without a vector. */
  embedder: string | null
}

export interface IndexScope {
  project: string
  kind: KnowledgeKind
}

/** The state of a collection. */
interface Revision {
  revision: string
  /** The embedder of the vectors that were stored last; `null` without any. */
  embedder: string | null
}

interface LoadedCollection {
  revision: string
  entries: readonly IndexEntry[]
}

/** The documents of all projects of a store, with the collections that were searched last in memory. */
export class KnowledgeIndex {
  readonly #store: VectorStore
  readonly #newRevision: () => string
  readonly #loaded = new Map<string, LoadedCollection>()

  constructor(store: VectorStore, newRevision: () => string) {
    this.#store = store
    this.#newRevision = newRevision
  }

  /** All entries, by id. */
  async entries(scope: IndexScope): Promise<readonly IndexEntry[]> {
    const key = JSON.stringify([scope.project, scope.kind])
    const known = this.#loaded.get(key)
    const current = await this.#revision(scope)
    const isCurrent = known !== undefined && known.revision === current?.revision
    const loaded = isCurrent ? known : loadedFrom(current ? await this.#store.vectors(collectionOf(scope)) : [])
    this.#loaded.delete(key)
    this.#loaded.set(key, loaded)
    for (const oldest of [...this.#loaded.keys()].slice(0, -MAX_COLLECTIONS)) this.#loaded.delete(oldest)
    return loaded.entries
  }

  /** The entries with these ids. */
  async entriesWithIds(scope: IndexScope, ids: readonly string[]): Promise<IndexEntry[]> {
    return (await this.#store.vectors(collectionOf(scope), ids)).map(toEntry)
  }

  /** The embedder of the vectors; `null` without any. */
  async embedder(scope: IndexScope): Promise<string | null> {
    return (await this.#revision(scope))?.embedder ?? null
  }

  /** Stores and removes entries at once. */
  async change(
    scope: IndexScope,
    { put, remove = [] }: { put: readonly IndexEntry[]; remove?: readonly string[] },
  ): Promise<void> {
    const made = put.find((entry) => entry.embedder !== null)?.embedder
    const embedder = made ?? (await this.embedder(scope))
    const data: Revision = { revision: this.#newRevision(), embedder }
    const revision: VectorRow = { id: REVISION_ID, vector: new Float32Array(0), data }
    await this.#store.putVectors(collectionOf(scope), [...put.map(toRow), revision], remove)
  }

  async #revision(scope: IndexScope): Promise<Revision | undefined> {
    const [row] = await this.#store.vectors(collectionOf(scope), [REVISION_ID])
    return row?.data as Revision | undefined
  }
}

function collectionOf({ project, kind }: IndexScope): VectorCollection {
  return { project, collection: `knowledge/${kind}` }
}

function loadedFrom(rows: readonly VectorRow[]): LoadedCollection {
  const row = rows.find(({ id }) => id === REVISION_ID)
  const revision = (row?.data as Revision | undefined)?.revision ?? ''
  return { revision, entries: rows.filter(({ id }) => id !== REVISION_ID).map(toEntry) }
}

type StoredData = Omit<KnowledgeDocument, 'id'> & { embedder: string | null }

function toRow({ document: { id, ...rest }, vector, embedder }: IndexEntry): VectorRow {
  return { id, vector, data: { ...rest, embedder } satisfies StoredData }
}

function toEntry({ id, vector, data }: VectorRow): IndexEntry {
  const { embedder, ...rest } = data as StoredData
  return { document: { id, ...rest }, vector, embedder }
}
