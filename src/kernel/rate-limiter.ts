/** Bounds how fast models are requested, before a provider refuses. */
export interface RateLimiter {
  /** Resolves when a request to the model may be sent; `undefined` if it may be sent now. */
  acquire(model: string, signal: AbortSignal): Promise<void> | undefined
  /** Counts the tokens that a request used. */
  recordTokens(model: string, tokens: number): void
}
