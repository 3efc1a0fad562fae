import type { ErrorCode } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'

/** Errors that end the execution instead of becoming a step's outcome: continuing could write or do the wrong thing. */
const FATAL_CODES = new Set<ErrorCode>([
  'duplicate_step',
  'step_drift',
  'unclaimed_action',
  'lease_lost',
  'run_busy',
  'too_large',
  'store_full',
  'store_read_only',
  'store_not_yours',
  'store_corrupt',
  'store_newer',
  'store_older',
  'store_network',
  'store_failed',
])

export function isFatal(error: TroupeError): boolean {
  return FATAL_CODES.has(error.code)
}

/**
 * The error of a tool, a hook or a performer. A fatal one is about another run or store that it works with: it gets this code,
 * and must not end the run.
 */
export function toUserCodeError(thrown: unknown, code: ErrorCode): unknown {
  if (!(thrown instanceof TroupeError) || !isFatal(thrown)) return thrown
  return new TroupeError(code, thrown.message, { hint: thrown.hint, cause: thrown })
}

/** Calls a hook; see `toUserCodeError`. */
export async function callUserCode<T>(code: ErrorCode, call: () => T | Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    throw toUserCodeError(thrown, code)
  }
}
