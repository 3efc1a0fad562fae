import type { EventDataOf } from '../event.ts'
import type { Execution } from '../journal/execution.ts'

/**
 * Settles requests that a crash left open, before the first new request: otherwise that request could reserve budget
 * which the lost ones may already have spent.
 */
export function settleLostModelCalls(execution: Execution): void {
  for (const { data, session_id } of execution.journalIndex.openModelCalls()) {
    const event = execution.journal.append('model:lost', { ...lostReservation(data), reason: 'crash' }, session_id)
    execution.journalIndex.add(event)
    execution.budget.recordEvent(event)
  }
}

export function lostReservation({ key, attempt, reserved }: EventDataOf<'model:begin'>) {
  return { key, attempt, reserved }
}
