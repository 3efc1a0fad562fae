/** Limits of a run. All have defaults; `null` removes a limit. */
export interface Limits {
  /** Model requests. */
  calls: number | null
  /** Input and output tokens together. */
  tokens: number | null
  /** Cost in US dollars, where prices are known. */
  usd: number | null
  /** Working time in milliseconds; time at gates does not count. */
  wall_ms: number | null
  /** Levels of delegation below the first agent (max_recursion_depth). */
  depth: number
  /** Levels of an agent delegating to itself. */
  self_depth: number
  /** Sub-sessions per session. */
  breadth: number
  /** Model requests in flight at once. */
  concurrency: number
  /** Model requests per instruction. */
  turns: number
  /** Maximum tokens of one model response. */
  output: number
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  calls: 500,
  tokens: 5_000_000,
  usd: 20,
  wall_ms: 60 * 60 * 1000,
  depth: 1,
  self_depth: 1,
  breadth: 20,
  concurrency: 16,
  turns: 50,
  output: 16_384,
})
