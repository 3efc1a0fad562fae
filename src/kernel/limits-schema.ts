import { z } from 'zod'
import type { Limits } from './limits.ts'

export const limitsSchema: z.ZodType<Limits> = z.strictObject({
  calls: z.int().positive().nullable().describe('model calls'),
  tokens: z.int().positive().nullable().describe('input and output tokens together'),
  usd: z.number().positive().nullable().describe('cost in US dollars, where prices are known'),
  wall_ms: z.int().positive().nullable().describe('working time in milliseconds; time at gates does not count'),
  depth: z.int().min(0).describe('levels of delegation below the first agent (max_recursion_depth)'),
  self_depth: z.int().min(0).describe('levels of an agent delegating to itself'),
  breadth: z.int().positive().describe('sub-sessions per session'),
  concurrency: z.int().positive().describe('model calls in flight at once'),
  turns: z.int().positive().describe('model calls per instruction'),
  output: z.int().positive().describe('maximum tokens of one model response'),
})
