import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { SessionHistory } from '../kernel/ports.ts'
import type { EventPosition, Store } from '../store/store.ts'

/*
 * What sessions said and heard before, for those who take them up again.
 * 1. A past is kept only if every segment of it has ended. Such a past never changes: what comes later follows it.
 * 2. Before a kept past is used, the store is asked whether its last segment still ends where the past does; only what
 *    follows is read. Whoever wrote that, this process or another, is read all the same.
 * 3. What is kept is bounded, and forgetting it costs time, nothing else.
 */

const MAX_CACHED_EVENTS = 100_000

export class SessionHistoryCache {
  readonly #store: Store
  /** The one used last comes last. */
  readonly #cached = new Map<string, SessionHistory>()
  #eventCount = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Everything up to now. */
  async read(session_id: string): Promise<SessionHistory> {
    const kept = this.#cached.get(session_id)
    const segments = await this.#store.segments(session_id, kept?.base)
    const known = kept && endsAt(segments[0], kept.base) ? kept : undefined
    const from = known || !kept ? segments : await this.#store.segments(session_id)
    const news = await this.#store.sessionEvents(session_id, known && { after: known.base })
    const past = known ? extendHistory(known, news) : historyFrom(session_id, await this.#withOrigin(news))
    this.#evict(session_id)
    if (from.every(({ to }) => to !== null) && endsAt(from.at(-1), past.base)) this.#add(past)
    return past
  }

  /** Everything up to an event. */
  async readUpTo(session_id: string, base: EventPosition): Promise<SessionHistory> {
    const kept = this.#cached.get(session_id)
    if (kept && isSamePosition(kept.base, base)) return kept
    const events = await this.#store.sessionEvents(session_id, { to: base })
    return { ...historyFrom(session_id, await this.#withOrigin(events)), base }
  }

  /** A session of a forked run had another id when its first segments were written. */
  async #withOrigin(events: Event[]): Promise<Event[]> {
    const [first] = events
    const base = isEvent(first, 'session:open') ? first.data.base : undefined
    if (base?.session_id === undefined || !(await this.#store.session(base.session_id))) return events
    return [...(await this.readUpTo(base.session_id, base)).events, ...events]
  }

  #add(past: SessionHistory): void {
    this.#cached.set(past.session_id, past)
    this.#eventCount += past.events.length
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
    throw new TroupeError('session_not_resumable', `nothing is kept of the session ${session_id}`, {
      hint: 'delegate anew',
    })
  }
  return { session_id, segment: lastSegment(events) ?? 1, base: { run_id: last.run_id, seq: last.seq }, events }
}

function extendHistory(past: SessionHistory, news: readonly Event[]): SessionHistory {
  const last = news.at(-1)
  if (!last) return past
  const base = { run_id: last.run_id, seq: last.seq }
  return { ...past, segment: lastSegment(news) ?? past.segment, base, events: [...past.events, ...news] }
}

function lastSegment(events: readonly Event[]): number | undefined {
  const open = events.findLast((event) => event.type === 'session:open')
  return isEvent(open, 'session:open') ? open.data.segment : undefined
}

function endsAt(segment: { run_id: string; to: number | null } | undefined, { run_id, seq }: EventPosition): boolean {
  return segment?.run_id === run_id && segment.to === seq
}

function isSamePosition(one: EventPosition, other: EventPosition): boolean {
  return one.run_id === other.run_id && one.seq === other.seq
}
