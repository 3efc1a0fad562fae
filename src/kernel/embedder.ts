/** Turns sentences into vectors whose angles say how close their meanings are. */
export interface Embedder {
  /** Which model: vectors of two models must never be compared. */
  readonly id: string
  /** At or over it two sentences may mean the same, once the guard agrees. */
  readonly threshold: number
  /** One vector of length 1 for each text, in their order. What is longer than the model's window is cut. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>
  close?(): Promise<void>
}
