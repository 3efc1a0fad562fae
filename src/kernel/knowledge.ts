/** Something that was learned or written down, found again by its text. */
export interface KnowledgeDocument {
  /** Adding another document of this id replaces it. */
  id: string
  kind: KnowledgeKind
  /** The text that is searched. */
  text: string
  /** JSON that a match returns. */
  data: unknown
  /** Labels that a query can filter by, such as `specialist_agent` or `path`. */
  tags?: Readonly<Record<string, string>>
  outcome?: KnowledgeOutcome
  /** When it was learned, in milliseconds since the epoch. */
  at: number
}

export type KnowledgeKind = 'agent_collaboration' | 'document'

/** How good an answer was. */
export interface KnowledgeOutcome {
  success: boolean
  /** From 1 (bad) to 5 (good), by whoever asked. */
  rating?: number
}

export interface KnowledgeQuery {
  text: string
  kind: KnowledgeKind
  /** Only documents that have all of these tags. */
  tags?: Readonly<Record<string, string>>
  /** Default: 10. */
  limit?: number
  /** The time that ages are measured from. */
  now: number
  /** `lexical` compares words even where vectors exist. Default: vectors, where there is an embedder. */
  method?: KnowledgeMatch['method']
}

export interface KnowledgeMatch {
  document: KnowledgeDocument
  /** From 0 to 1: of vectors (cosine) or of words (Dice coefficient). */
  similarity: number
  /** Similarity × weight of the outcome × weight of the age. */
  score: number
  method: 'embedding' | 'lexical'
}

/** The documents to forget: by id, by tags, or all of a kind. */
export interface KnowledgeSelection {
  ids?: readonly string[]
  tags?: Readonly<Record<string, string>>
  kind?: KnowledgeKind
}

/** The knowledge of one project. */
export interface Knowledge {
  /** Stores documents, all or none. Repeating it changes nothing. */
  add(documents: readonly KnowledgeDocument[], signal?: AbortSignal): Promise<void>
  /** The documents of a kind with these ids. */
  get(kind: KnowledgeKind, ids: readonly string[]): Promise<KnowledgeDocument[]>
  /** The best matches first. Rejects with `invalid_input` if the vectors come from another embedder. */
  search(query: KnowledgeQuery, signal?: AbortSignal): Promise<KnowledgeMatch[]>
  /** Removes documents and returns how many there were. */
  forget(selection: KnowledgeSelection): Promise<number>
}
