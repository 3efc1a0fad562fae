/** Turns texts into vectors whose angle says how near their meanings are. */
export interface Embedder {
  readonly id: string
  /** At or over it two sentences may mean the same, once words that turn the meaning have been looked at. */
  readonly threshold: number
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>
  close?(): Promise<void>
}
