import { z } from 'zod'

/** What bounds a run. All are on by default; `null` takes a limit away and has to be said. */
export const limitsSchema = z.strictObject({
  calls: z.int().positive().nullable().describe('model calls'),
  tokens: z.int().positive().nullable().describe('input and output tokens together'),
  usd: z.number().positive().nullable().describe('cost in US dollars, where prices are known'),
  wall_ms: z.int().positive().nullable().describe('working time; waiting for people does not count'),
  depth: z.int().min(0).describe('levels of delegation below the first agent (max_recursion_depth)'),
  self_depth: z.int().min(0).describe('levels an agent may delegate to itself'),
  breadth: z.int().positive().describe('sub-sessions that one session may start'),
  concurrency: z.int().positive().describe('model calls in flight at once'),
  turns: z.int().positive().describe('model calls that one session may make for one instruction'),
  output: z.int().positive().describe('the most tokens one answer may have'),
})

export type Limits = z.infer<typeof limitsSchema>

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
