import { TroupeError } from '../../errors.ts'

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
