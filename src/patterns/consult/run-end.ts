import type { RunEnd } from '../../kernel/event.ts'
import { isResumableFailure } from '../../kernel/resumable-failure.ts'

/** The consultations that fail with the end of their run: those that it still worked on, and those whose specialist asked back. */
export interface FailedAtEnd {
  atWork: boolean
  askedBack: boolean
}

/** A run that failed for a reason outside of it goes on when it is resumed. Of a cancelled run nobody will reply to the specialists either. */
export function failedAtEnd({ status, error }: Pick<RunEnd, 'status' | 'error'>): FailedAtEnd {
  const goesOn = status === 'failed' && error !== null && isResumableFailure(error)
  return { atWork: !goesOn, askedBack: status === 'cancelled' }
}
