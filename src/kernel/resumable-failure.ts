import type { ErrorCode, ErrorRecord } from '../errors.ts'
import type { PatternResult } from './pattern.ts'

/** Failures for a reason outside the run: a provider that was down or refused the key, or a limit that the operator may raise. */
const OUTSIDE_REASONS: ReadonlySet<ErrorCode> = new Set([
  'model_failed',
  'model_auth',
  'model_rate_limited',
  'stream_interrupted',
  'performer_failed',
  'limit_reached',
])

/** True when `resume` can succeed where this failed, with nothing changed in the run itself. */
export function isResumableFailure({ code }: Pick<ErrorRecord, 'code'>): boolean {
  return OUTSIDE_REASONS.has(code)
}

/** The failed steps that a result names, as the journal records them: `resume` retries them. A result with success stays, but for failures outside the run. */
export function stepsToRetry({ success, incomplete = [] }: Pick<PatternResult, 'success' | 'incomplete'>): string[] {
  const errors = success ? incomplete.filter(isResumableFailure) : incomplete
  return [...new Set(errors.flatMap(({ step }) => step ?? []))]
}

/** The field of an event with the steps to retry. */
export function retryField(steps: readonly string[]): { retry_keys?: string[] } {
  return steps.length === 0 ? {} : { retry_keys: [...steps] }
}
