/** What bounds a run. All are on by default; `null` takes a limit away and has to be said. */
export interface Limits {
  /** Model calls. */
  calls: number | null
  /** Input and output tokens together. */
  tokens: number | null
  /** Cost in US dollars, where prices are known. */
  usd: number | null
  /** Working time; waiting for people does not count. */
  wall_ms: number | null
  /** Levels of delegation below the first agent (max_recursion_depth). */
  depth: number
  /** Levels an agent may delegate to itself. */
  self_depth: number
  /** Sub-sessions that one session may start. */
  breadth: number
  /** Model calls in flight at once. */
  concurrency: number
  /** Model calls that one session may make for one instruction. */
  turns: number
  /** The most tokens one answer may have. */
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
