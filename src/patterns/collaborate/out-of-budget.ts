import type { ErrorRecord } from '../../errors.ts'
import { limitFromError } from '../../kernel/session/budget.ts'

/**
 * True when a limit of the run itself kept one from speaking. Nobody is asked after that: their questions would be in the
 * journal without what is still to be said, and a run that is resumed with a higher limit asks what it finds there.
 */
export function isOutOfBudget({ error }: { error?: ErrorRecord | null }): boolean {
  return error?.code === 'limit_reached' && limitFromError(error) !== 'breadth'
}
