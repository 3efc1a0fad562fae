import type { EventOf } from '../../kernel/event.ts'
import type { Thread } from '../../kernel/thread.ts'
import type { DetailScope } from './detail-scope.ts'

/** The shared conversation that a session began with, if the view of its pattern can tell. */
export function sharedThread(_scope: DetailScope, _open: EventOf<'session:open'>): Thread | undefined {
  return undefined
}
