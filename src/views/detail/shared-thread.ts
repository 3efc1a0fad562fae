import type { EventOf } from '../../kernel/event.ts'
import { Thread } from '../../kernel/thread.ts'
import type { DetailScope } from './detail-scope.ts'

/** The shared conversation that a session began with, if the view of a pattern can rebuild it: its hash proves that it is the same. */
export function sharedThread(scope: DetailScope, open: EventOf<'session:open'>): Thread | undefined {
  const known = scope.cache.threads.get(open) ?? { thread: rebuiltThread(scope, open) }
  scope.cache.threads.set(open, known)
  return known.thread
}

function rebuiltThread({ events, options }: DetailScope, open: EventOf<'session:open'>): Thread | undefined {
  const { length = 0, hash } = open.data.thread ?? {}
  for (const { view } of options.views ?? []) {
    if (!view.sharedMessages) continue
    const thread = new Thread()
    for (const message of view.sharedMessages(events, open).slice(0, length)) thread.add(message)
    if (thread.hash === hash) return thread
  }
  return undefined
}
