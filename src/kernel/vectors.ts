/** A named set of vectors of a project. All have the same length and come from the same embedding model. */
export interface VectorScope {
  project: string
  collection: string
}

export interface VectorEntry {
  id: string
  vector: Float32Array
  /** JSON to return with a match. */
  data?: unknown
}

export interface VectorMatch {
  id: string
  /** Cosine similarity, from -1 to 1. */
  similarity: number
  data: unknown
}

/** Nearest-neighbour search over embeddings. */
export interface Vectors {
  /** Adds entries; one with the same id is replaced. A vector of another length than those in the collection is `invalid_input`. */
  add(scope: VectorScope, entries: readonly VectorEntry[]): Promise<void>
  /** The most similar entries, best first; entries of equal similarity by id. */
  query(
    scope: VectorScope,
    vector: Float32Array,
    options?: { limit?: number; minimum?: number },
  ): Promise<VectorMatch[]>
  /** Without `ids`, the whole collection. */
  delete(scope: VectorScope, ids?: readonly string[]): Promise<void>
}
