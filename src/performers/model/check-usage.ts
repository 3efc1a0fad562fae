import type { ReservedBudget } from '../../kernel/event.ts'
import type { Usage } from '../../kernel/model.ts'
import { NO_USAGE } from '../../kernel/model.ts'

/** Larger than the context window of any model that is known; a proxy may add to a request, but not this much. */
const MAX_TOKENS = 2_000_000
/** Reserved input is an upper bound for text; files and tools of the provider may exceed it. */
const MAX_TIMES_RESERVED = 10

export interface CheckedUsage {
  usage?: Usage
  /** The figures that cannot be true, as text: JSON has no NaN. */
  refused?: string
}

/** Refuses usage that cannot be true: one wrong figure would make every sum of the run NaN, or use up its budget. */
export function checkUsage(reported: Usage, { tokens }: ReservedBudget): CheckedUsage {
  // A model in a program may leave fields out.
  const usage = { ...NO_USAGE, ...reported }
  const max = Math.max(MAX_TOKENS, tokens * MAX_TIMES_RESERVED)
  if (Object.values(usage).every((value) => isCount(value, max))) return { usage }
  const wrong = Object.entries(usage).filter(([, value]) => !isCount(value, max))
  return { refused: wrong.map(([name, value]) => `${name}: ${String(value)}`).join(', ') }
}

function isCount(value: unknown, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max
}
