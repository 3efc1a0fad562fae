import type { ErrorCode, TroupeError } from '../../errors.ts'

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
