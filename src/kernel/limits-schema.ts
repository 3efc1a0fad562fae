import { z } from 'zod'
import type { Limits } from './limits.ts'

/** Limits as people give them, checked. */
export const limitsSchema: z.ZodType<Limits> = z.strictObject({
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
