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

export function duplicateStepError(key: string): TroupeError {
  return new TroupeError('duplicate_step', `the step key '${key}' is used twice in one execution`, {
    hint: 'give each step a key of its own, for example with the index of the loop in it',
  })
}

export function unclaimedActionError(key: string): TroupeError {
  return new TroupeError(
    'unclaimed_action',
    `the journal holds the action '${key}', which the code no longer performs`,
    { hint: 'resume with the version of the pattern that began it, or map its key in `renamedKeys` of the pattern' },
  )
}
