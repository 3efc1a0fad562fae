/** Text embeddings, compared by cosine similarity. */
export interface Embedder {
  /** The embedding model. Vectors of different models must not be compared. */
  readonly id: string
  /** Minimum similarity at which two texts may count as equivalent. */
  readonly threshold: number
  /** Minimum similarity at which two questions may count as the same. Default: `threshold`. */
  readonly question_threshold?: number
  /** One unit vector per text, in order. Texts over the model's window are truncated. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>
  close?(): Promise<void>
}
