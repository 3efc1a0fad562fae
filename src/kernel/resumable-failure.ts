import type { ErrorCode, ErrorRecord } from '../errors.ts'

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
