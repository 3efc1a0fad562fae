import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { SessionHistory } from '../kernel/ports.ts'
import { extendFold, foldEvents } from '../kernel/session/session-fold.ts'
import type { EventPosition, SessionRange, Store } from '../store/store.ts'

/*
 * Caches the folded conversations of sessions, so that resuming a session neither reads, folds nor hashes its whole history
 * again: the cost of a turn does not grow with the conversation.
 * 1. A history is cached only if all its segments have ended: such a history never changes, later events follow it.
 * 2. Before a cached history is used, the store confirms that its last segment still ends at the same event. Only later
 *    events are read, including those that another process wrote.
 * 3. A cached history that later events cannot extend (`extendFold`) is read again from the store.
 * 4. The cache is bounded. Eviction costs time, never correctness.
 */

/** Bounds the memory. Bytes, not events or sessions: one tool result may have 256 KB. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024
/** About what an event occupies besides its text. */
const EVENT_OVERHEAD_BYTES = 128

export class SessionHistoryCache {
  readonly #store: Store
  readonly #maxBytes: number
  /** In order of use, the most recent last. */
  readonly #cached = new Map<string, SessionHistory>()
  #bytes = 0

  constructor(store: Store, maxBytes = MAX_CACHED_BYTES) {
    this.#store = store
    this.#maxBytes = maxBytes
  }

  /** The whole history of a session. */
  async read(session_id: string): Promise<SessionHistory> {
    const cached = this.#cached.get(session_id)
    const newest = await this.#store.segments(session_id, cached?.base)
    const extended = cached && endsAt(newest[0], cached.base) ? await this.#extend(cached) : undefined
    const segments = extended || !cached ? newest : await this.#store.segments(session_id)
    const history = extended ?? historyFrom(session_id, await readSessionEvents(this.#store, session_id))
    this.#evict(session_id)
    if (segments.every(({ to }) => to !== null) && endsAt(segments.at(-1), history.base)) this.#add(history)
    return history
  }

  /** The history of a session up to an event. */
  async readUpTo(session_id: string, base: EventPosition): Promise<SessionHistory> {
    const cached = this.#cached.get(session_id)
    if (cached && isSamePosition(cached.base, base)) return cached
    const events = await readSessionEvents(this.#store, session_id, { to: base })
    return { ...historyFrom(session_id, events), base }
  }

  async #extend(cached: SessionHistory): Promise<SessionHistory | undefined> {
    const later = await this.#store.sessionEvents(cached.session_id, { after: cached.base })
    const last = later.at(-1)
    if (!last) return cached
    const fold = extendFold(cached.fold, later)
    return fold && { ...cached, segment: fold.lastOpening?.segment ?? cached.segment, base: positionOf(last), fold }
  }

  #add(history: SessionHistory): void {
    this.#cached.set(history.session_id, history)
    this.#bytes += historyBytes(history)
    for (const oldest of this.#cached.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#evict(oldest)
    }
  }

  #evict(session_id: string): void {
    const cached = this.#cached.get(session_id)
    if (!cached) return
    this.#bytes -= historyBytes(cached)
    this.#cached.delete(session_id)
  }
}

/** The events of a session, preceded by the segments of a forked session that were written under its original id. */
export async function readSessionEvents(store: Store, session_id: string, range?: SessionRange): Promise<Event[]> {
  const events = await store.sessionEvents(session_id, range)
  const [first] = events
  const base = isEvent(first, 'session:open') ? first.data.base : undefined
  if (base?.session_id === undefined || !(await store.session(base.session_id))) return events
  return [...(await readSessionEvents(store, base.session_id, { to: base })), ...events]
}

function historyFrom(session_id: string, events: readonly Event[]): SessionHistory {
  const last = events.at(-1)
  if (!last) {
    throw new TroupeError('session_not_resumable', `session ${session_id} has no events`, {
      hint: 'start a new session',
    })
  }
  const fold = foldEvents(events)
  return { session_id, segment: fold.lastOpening?.segment ?? 1, base: positionOf(last), fold }
}

function historyBytes({ fold }: SessionHistory): number {
  return fold.state.bytes + fold.eventCount * EVENT_OVERHEAD_BYTES
}

function positionOf({ run_id, seq }: Event): EventPosition {
  return { run_id, seq }
}

function endsAt(segment: { run_id: string; to: number | null } | undefined, { run_id, seq }: EventPosition): boolean {
  return segment?.run_id === run_id && segment.to === seq
}

function isSamePosition(a: EventPosition, b: EventPosition): boolean {
  return a.run_id === b.run_id && a.seq === b.seq
}
