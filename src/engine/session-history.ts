import { TroupeError } from '../errors.ts'
import type { Event, SessionOpen } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { SessionHistory } from '../kernel/ports.ts'
import { extendFold, foldEvents } from '../kernel/session/session-fold.ts'
import type { EventPosition, Segment, SessionRange, Store } from '../store/store.ts'

/*
 * Caches the folded conversations of sessions, so that resuming a session neither reads, folds nor hashes its whole history
 * again: the cost of a turn does not grow with the conversation.
 * 1. A history is cached only if all its segments have ended: such a history never changes, later events follow it.
 * 2. Before a cached history is used, the store confirms that its last segment still ends at the same event. Only later
 *    events are read, including those that another process wrote.
 * 3. A segment that this process writes extends the cached history that it continues, without a read. Only segments of a run's
 *    first attempt: before a later one, another process may have written to the segment.
 * 4. The first segments of recent sessions are kept unfolded: most sessions are never resumed, and folding costs time.
 * 5. A cached history that later events cannot extend (`extendFold`) is read again from the store.
 * 6. The cache is bounded. Eviction costs time, never correctness.
 */

/** Bounds the memory. Bytes, not events or sessions: one tool result may have 256 KB. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024
const ATTEMPT_BOUNDARIES: ReadonlySet<string> = new Set(['run:attempt', 'run:end', 'run:park', 'run:interrupt'])
/** After `run:start`. */
const FIRST_ATTEMPT_SEQ = 2
const MAX_UNFOLDED_BYTES = 8 * 1024 * 1024
/** Longer first segments are read again: their cost is in their turns. */
const MAX_UNFOLDED_EVENTS = 64
/** About what an event occupies besides its text. */
const EVENT_OVERHEAD_BYTES = 128

export class SessionHistoryCache {
  readonly #store: Store
  readonly #maxBytes: number
  /** In order of use, the most recent last. */
  readonly #cached = new Map<string, SessionHistory>()
  #bytes = 0
  /** Segments that this process is writing, by run and session, with the events that are committed. */
  readonly #growing = new Map<string, Map<string, Event[]>>()
  /** First segments that have ended and that nobody has resumed: newer ones, and those before them (two generations). */
  #unfolded = new Map<string, readonly Event[]>()
  #olderUnfolded = new Map<string, readonly Event[]>()
  #unfoldedBytes = 0

  constructor(store: Store, maxBytes = MAX_CACHED_BYTES) {
    this.#store = store
    this.#maxBytes = maxBytes
  }

  /** The whole history of a session, whose newest segment the caller knows from its claim. */
  async read(session_id: string, last?: Segment): Promise<SessionHistory> {
    const cached = this.#cached.get(session_id) ?? this.#takeUnfolded(session_id)
    if (cached && endsAt(last, cached.base)) {
      this.#evict(session_id)
      this.#add(cached)
      return cached
    }
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

  /** Extends cached histories with the events that this process has committed, in order within a run. */
  recordCommitted(events: readonly Event[]): void {
    for (const event of events) {
      if (event.session_id === undefined) this.#followRun(event)
      else this.#followSession(event, event.session_id)
    }
  }

  #followRun({ type, run_id, seq }: Event): void {
    if (type === 'run:attempt' && seq === FIRST_ATTEMPT_SEQ) this.#growing.set(run_id, new Map())
    else if (ATTEMPT_BOUNDARIES.has(type)) this.#growing.delete(run_id)
  }

  #followSession(event: Event, session_id: string): void {
    const segments = this.#growing.get(event.run_id)
    const segment = segments?.get(session_id)
    if (isEvent(event, 'session:open')) {
      const isFollowed = isFirstSegment(event.data) || this.#isContinued(session_id, event.data.base)
      if (isFollowed && !segment) segments?.set(session_id, [event])
      else segments?.delete(session_id)
      return
    }
    if (!segment) return
    segment.push(event)
    if (event.type === 'session:end') this.#complete(session_id, segment)
  }

  #complete(session_id: string, segment: readonly Event[]): void {
    const [open] = segment
    if (!isEvent(open, 'session:open')) return
    this.#growing.get(open.run_id)?.delete(session_id)
    const cached = this.#cached.get(session_id)
    if (isFirstSegment(open.data)) this.#keepUnfolded(session_id, segment)
    else if (cached && this.#isContinued(session_id, open.data.base)) {
      const extended = extendHistory(cached, segment)
      this.#evict(session_id)
      if (extended) this.#add(extended)
    }
  }

  #isContinued(session_id: string, base: EventPosition | undefined): boolean {
    const cached = this.#cached.get(session_id)
    return cached !== undefined && base !== undefined && isSamePosition(cached.base, base)
  }

  #keepUnfolded(session_id: string, events: readonly Event[]): void {
    if (events.length > MAX_UNFOLDED_EVENTS) return
    this.#unfolded.set(session_id, events)
    for (const event of events) this.#unfoldedBytes += EVENT_OVERHEAD_BYTES + eventTextLength(event)
    if (this.#unfoldedBytes <= MAX_UNFOLDED_BYTES / 2) return
    this.#olderUnfolded = this.#unfolded
    this.#unfolded = new Map()
    this.#unfoldedBytes = 0
  }

  #takeUnfolded(session_id: string): SessionHistory | undefined {
    const events = this.#unfolded.get(session_id) ?? this.#olderUnfolded.get(session_id)
    this.#unfolded.delete(session_id)
    this.#olderUnfolded.delete(session_id)
    return events && historyFrom(session_id, events)
  }

  async #extend(cached: SessionHistory): Promise<SessionHistory | undefined> {
    return extendHistory(cached, await this.#store.sessionEvents(cached.session_id, { after: cached.base }))
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

function extendHistory(history: SessionHistory, later: readonly Event[]): SessionHistory | undefined {
  const last = later.at(-1)
  if (!last) return history
  const fold = extendFold(history.fold, later)
  return fold && { ...history, segment: fold.lastOpening?.segment ?? history.segment, base: positionOf(last), fold }
}

/** The first segment of a session that a later run can resume by itself. A fork has a `base`, a turn of a team a `thread`. */
function isFirstSegment({ segment, base, thread, parent_session_id }: SessionOpen): boolean {
  return segment === 1 && base === undefined && thread === undefined && parent_session_id === null
}

/** The characters of what an event adds to the conversation. Everything else is short, or shared with other sessions. */
function eventTextLength({ data }: Event): number {
  return 'message' in data ? textLength(data.message) : 'output' in data ? textLength(data.output) : 0
}

/** The characters of all texts in a value. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const part of Object.values(value)) length += textLength(part)
  return length
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
