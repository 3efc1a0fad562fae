import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { SessionHistory } from '../kernel/ports.ts'
import type { EventPosition, Store } from '../store/store.ts'

/*
 * Caches the events of sessions, so that resuming a session does not read its whole history again.
 * 1. A history is cached only if all its segments have ended: such a history never changes, later events follow it.
 * 2. Before a cached history is used, the store confirms that its last segment still ends at the same event. Only later
 *    events are read, also those that another process wrote.
 * 3. The cache is bounded. Eviction costs time, never correctness.
 */

const MAX_CACHED_EVENTS = 100_000

export class SessionHistoryCache {
  readonly #store: Store
  /** In order of use, the most recent last. */
  readonly #cached = new Map<string, SessionHistory>()
  #eventCount = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** The whole history of a session. */
  async read(session_id: string): Promise<SessionHistory> {
    const cached = this.#cached.get(session_id)
    const newest = await this.#store.segments(session_id, cached?.base)
    const valid = cached && endsAt(newest[0], cached.base) ? cached : undefined
    const segments = valid || !cached ? newest : await this.#store.segments(session_id)
    const events = await this.#store.sessionEvents(session_id, valid && { after: valid.base })
    const history = valid ? extendHistory(valid, events) : historyFrom(session_id, await this.#withOrigin(events))
    this.#evict(session_id)
    if (segments.every(({ to }) => to !== null) && endsAt(segments.at(-1), history.base)) this.#add(history)
    return history
  }

  /** The history of a session up to an event. */
  async readUpTo(session_id: string, base: EventPosition): Promise<SessionHistory> {
    const cached = this.#cached.get(session_id)
    if (cached && isSamePosition(cached.base, base)) return cached
    const events = await this.#store.sessionEvents(session_id, { to: base })
    return { ...historyFrom(session_id, await this.#withOrigin(events)), base }
  }

  /** Prepends the segments of a forked session that were written under its original id. */
  async #withOrigin(events: Event[]): Promise<Event[]> {
    const [first] = events
    const base = isEvent(first, 'session:open') ? first.data.base : undefined
    if (base?.session_id === undefined || !(await this.#store.session(base.session_id))) return events
    return [...(await this.readUpTo(base.session_id, base)).events, ...events]
  }

  #add(history: SessionHistory): void {
    this.#cached.set(history.session_id, history)
    this.#eventCount += history.events.length
    for (const oldest of this.#cached.keys()) {
      if (this.#eventCount <= MAX_CACHED_EVENTS) return
      this.#evict(oldest)
    }
  }

  #evict(session_id: string): void {
    this.#eventCount -= this.#cached.get(session_id)?.events.length ?? 0
    this.#cached.delete(session_id)
  }
}

function historyFrom(session_id: string, events: readonly Event[]): SessionHistory {
  const last = events.at(-1)
  if (!last) {
    throw new TroupeError('session_not_resumable', `session ${session_id} has no events`, {
      hint: 'start a new session',
    })
  }
  return { session_id, segment: lastSegment(events) ?? 1, base: { run_id: last.run_id, seq: last.seq }, events }
}

function extendHistory(history: SessionHistory, later: readonly Event[]): SessionHistory {
  const last = later.at(-1)
  if (!last) return history
  const base = { run_id: last.run_id, seq: last.seq }
  return { ...history, segment: lastSegment(later) ?? history.segment, base, events: [...history.events, ...later] }
}

function lastSegment(events: readonly Event[]): number | undefined {
  const open = events.findLast((event) => event.type === 'session:open')
  return isEvent(open, 'session:open') ? open.data.segment : undefined
}

function endsAt(segment: { run_id: string; to: number | null } | undefined, { run_id, seq }: EventPosition): boolean {
  return segment?.run_id === run_id && segment.to === seq
}

function isSamePosition(a: EventPosition, b: EventPosition): boolean {
  return a.run_id === b.run_id && a.seq === b.seq
}
