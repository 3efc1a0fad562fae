import type { ErrorRecord } from '../../errors.ts'
import type { Context } from '../../kernel/context.ts'
import { isResumableFailure } from '../../kernel/resumable-failure.ts'

/*
 * Retries of a collaboration that ended without some of its answers, because a provider was down.
 * 1. Only the earliest steps that failed are retried: what depends on them is worked out anew in any case.
 * 2. What depends on a retried step has other keys than before: the journal has the agreement and the synthesis without that answer.
 */

/** The stages of a collaboration: the keys of steps that resume can retry, and of what depends on them first. Keys are stored in journals. */
const STAGES = {
  contributions: { retried: ['agents', 'text', 'parts', 'corrections'], next: ['waves', 'extraction', 'stand'] },
  agreement: { retried: ['extraction', 'stand/judge'], next: ['conflict', 'asked-again', 'mediation'] },
  mediation: { retried: ['mediation'], next: ['stand/mediated'] },
  mediated: { retried: ['stand/mediated'], next: ['synthesis/coordinator', 'synthesis/evaluator'] },
  synthesis: { retried: ['synthesis'], next: ['spent', 'ended'] },
} as const

type Stage = keyof typeof STAGES

/** The prefix of the keys of what depends on a stage; another one each time that a step of the stage is retried. */
export function pathAfter(context: Pick<Context, 'earlierWork' | 'supersede'>, stage: Stage, path = ''): string {
  const { retried } = STAGES[stage]
  const { retries } = context.earlierWork(retried.map((key) => path + key))
  if (retries === 0) return path
  const names = Object.keys(STAGES) as Stage[]
  const dependents = names.slice(names.indexOf(stage)).flatMap((each) => STAGES[each].next)
  const earlier = Array.from({ length: retries - 1 }, (_, index) => `retry/${index + 1}`)
  context.supersede([...dependents, ...earlier].map((key) => path + key))
  return `${path}retry/${retries}/`
}

/** The failed step, if it failed for a reason outside the run; a limit of the run ends the collaboration instead. */
export function retryKeys(...errors: readonly (ErrorRecord | null | undefined)[]): string[] {
  const steps = errors.flatMap((error) => (error && isResumableFailure(error) ? (error.step ?? []) : []))
  return [...new Set(steps)]
}

/** The keys of the first stage that has any. */
export function earliestRetryKeys(...stages: readonly (readonly string[])[]): string[] {
  return [...(stages.find((keys) => keys.length > 0) ?? [])]
}
