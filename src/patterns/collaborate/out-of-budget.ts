import type { ErrorRecord } from '../../errors.ts'
import { limitFromError } from '../../kernel/session/budget.ts'

/**
 * True when a limit of the run stopped a request. No further agent may be asked then: its prompt would be recorded without
 * the missing contribution, and a resume with a higher limit would reuse that prompt.
 */
export function isOutOfBudget({ error }: { error?: ErrorRecord | null }): boolean {
  return error?.code === 'limit_reached' && limitFromError(error) !== 'breadth'
}
