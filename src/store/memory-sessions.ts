import type { EventOf } from '../kernel/event.ts'
import { sessionRowFromEnd, sessionRowFromOpen } from './projection.ts'
import type { EventPosition, Segment, SessionFilter, SessionRange, SessionRow } from './store.ts'

interface MemorySession {
  row: SessionRow
  segments: Segment[]
}

/** The sessions of a memory store, in the order they were first opened. */
export class MemorySessions {
  readonly #sessions = new Map<string, MemorySession>()

  /** Newest first. */
  idsOf(project: string): string[] {
    return this.list({ project }).map(({ session_id }) => session_id)
  }

  /** The row itself, not a copy. */
  row(session_id: string): SessionRow | undefined {
    return this.#sessions.get(session_id)?.row
  }

  /** Newest first. */
  list({ project, run_id, cache_key, before, limit }: SessionFilter): SessionRow[] {
    const newest = [...this.#sessions.values()].reverse()
    const first = before === undefined ? 0 : newest.findIndex(({ row }) => row.session_id === before) + 1
    return newest
      .slice(before !== undefined && first === 0 ? newest.length : first)
      .filter(({ row }) => row.project === project)
      .filter(({ segments }) => run_id === undefined || segments.some((segment) => segment.run_id === run_id))
      .filter(({ row }) => cache_key === undefined || row.cache_key === cache_key)
      .slice(0, limit)
      .map(({ row }) => row)
  }

  open(event: EventOf<'session:open'>, project: string): void {
    const { session_id, run_id, seq, data } = event
    if (session_id === undefined) return
    const before = this.#sessions.get(session_id)
    const segments = before?.segments ?? []
    const last = segments.at(-1)
    // After an interruption, the same run continues the same segment; otherwise a new segment begins.
    if (last && before?.row.segment === data.segment && last.run_id === run_id) last.to = null
    else segments.push({ run_id, from: seq, to: null })
    this.#sessions.set(session_id, { row: sessionRowFromOpen(before?.row, event, project), segments })
  }

  end(event: EventOf<'session:end'>): void {
    const session = this.#sessions.get(event.session_id ?? '')
    if (!session) return
    session.row = sessionRowFromEnd(session.row, event)
    const last = session.segments.at(-1)
    if (last?.run_id === event.run_id) last.to = event.seq
  }

  /** Each run with the first run of a session that it continues. */
  sharedRuns(project: string): (readonly [string, string])[] {
    return [...this.#sessions.values()].flatMap(({ row, segments }) => {
      const first = segments[0]?.run_id ?? row.run_id
      const others = new Set(segments.map(({ run_id }) => run_id).filter((run_id) => run_id !== first))
      return row.project === project ? [...others].map((run_id) => [first, run_id] as const) : []
    })
  }

  /** Deletes the sessions that worked in this run. */
  deleteOf(run_id: string): void {
    for (const [session_id, { segments }] of this.#sessions)
      if (segments.some((segment) => segment.run_id === run_id)) this.#sessions.delete(session_id)
  }

  segments(session_id: string, from: EventPosition | undefined): Segment[] {
    const segments = this.#sessions.get(session_id)?.segments ?? []
    const first = from === undefined ? 0 : segmentIndex(segments, from)
    return segments.slice(Math.max(first, 0)).map((segment) => ({ ...segment }))
  }

  newestSegment(session_id: string): Segment | undefined {
    const newest = this.#sessions.get(session_id)?.segments.at(-1)
    return newest && { ...newest }
  }

  /** The segments within a range, the first and the last one clipped to it. */
  segmentsInRange(session_id: string, { after, to }: SessionRange): Segment[] {
    const segments = this.#sessions.get(session_id)?.segments ?? []
    const first = after ? segmentIndex(segments, after) : -1
    const last = to ? segmentIndex(segments, to) : -1
    const start = Math.max(first, 0)
    return segments.slice(start, last < 0 ? undefined : last + 1).map((segment, index) => ({
      ...segment,
      from: after && start + index === first ? Math.max(segment.from, after.seq + 1) : segment.from,
      to: to && start + index === last ? to.seq : segment.to,
    }))
  }
}

/**
 * The index of the first segment of the run that ends at or after the event; -1 if there is none. Searched from the end: a chat
 * has a segment per turn, and asks for the newest.
 */
function segmentIndex(segments: readonly Segment[], { run_id, seq }: EventPosition): number {
  let found = -1
  for (let index = segments.length - 1; index >= 0; index--) {
    const segment = segments[index]
    if (segment?.run_id !== run_id) continue
    if (segment.to !== null && segment.to < seq) break
    found = index
    if (segment.from <= seq) break
  }
  return found
}
