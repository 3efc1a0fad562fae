import type { Event } from '../../kernel/event.ts'
import type { EventPosition, Segment, SessionRange } from '../store.ts'
import type { EventTable } from './event-table.ts'
import { JOINED_COLUMNS } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/** The position of an event in a session: the number of its segment, from 1, and its seq. */
interface SegmentPosition {
  place: number
  seq: number
}

/** A range of a session: `after` is exclusive, `to` is inclusive. */
export interface SegmentRange {
  session: number
  after: SegmentPosition
  to: SegmentPosition
}

const LAST = Number.MAX_SAFE_INTEGER
/** The newest segment is in the row of its session, earlier ones are in `segments`. */
const EARLIER = 'SELECT place, run, from_seq, to_seq FROM segments WHERE session = ?1'
const NEWEST = 'SELECT place, run, from_seq, to_seq FROM sessions WHERE id = ?1 AND opened_event IS NOT NULL'
const ALL = `(${EARLIER} UNION ALL ${NEWEST})`

/** `CROSS JOIN` fixes the join order: otherwise SQLite would scan whole runs. */
function eventsQuery(parts: string): string {
  return `
    SELECT ${JOINED_COLUMNS}, part.place FROM (${parts} AND place BETWEEN ?2 AND ?4) AS part
    CROSS JOIN events ON events.run = part.run
      AND seq >= CASE part.place WHEN ?2 THEN max(part.from_seq, ?3 + 1) ELSE part.from_seq END
      AND seq <= CASE part.place WHEN ?4 THEN min(coalesce(part.to_seq, ${LAST}), ?5)
        ELSE coalesce(part.to_seq, ${LAST}) END
    CROSS JOIN runs ON runs.id = events.run
    CROSS JOIN sessions ON sessions.id = events.session
    WHERE events.session = ?1 ORDER BY part.place, seq LIMIT ?6`
}

function statements(db: Database) {
  return {
    find: db.prepare('SELECT id FROM sessions WHERE session_id = ? AND opened_event IS NOT NULL'),
    list: db.prepare(
      `SELECT run_id, from_seq, to_seq FROM ${ALL} JOIN runs ON runs.id = run WHERE place >= ?2 ORDER BY place`,
    ),
    // The first segment of the run that ends at or after the event.
    holding: db.prepare(
      `SELECT min(place) AS place FROM ${ALL}
       WHERE run = (SELECT id FROM runs WHERE run_id = ?2) AND (to_seq IS NULL OR to_seq >= ?3)`,
    ),
    earlier: db.prepare(eventsQuery(EARLIER)),
    newest: db.prepare(eventsQuery(NEWEST)),
  }
}

/** The segments of sessions, which may be in different runs. */
export class SegmentTable {
  readonly #sql
  readonly #events: EventTable

  constructor(db: Database, events: EventTable) {
    this.#sql = statements(db)
    this.#events = events
  }

  list(session_id: string, from: EventPosition | undefined): Segment[] {
    const session = this.#findSession(session_id)
    if (session === undefined) return []
    const place = from === undefined ? 1 : (this.#locate(session, from)?.place ?? 1)
    return this.#sql.list.all(session, place).map(({ run_id, from_seq, to_seq }) => ({
      run_id: String(run_id),
      from: Number(from_seq),
      to: to_seq === null ? null : Number(to_seq),
    }))
  }

  /** Converts the bounds to segment positions; `undefined` for an unknown session. */
  resolveRange(session_id: string, { after, to }: SessionRange): SegmentRange | undefined {
    const session = this.#findSession(session_id)
    if (session === undefined) return undefined
    return {
      session,
      after: (after && this.#locate(session, after)) ?? { place: 1, seq: 0 },
      to: (to && this.#locate(session, to)) ?? { place: LAST, seq: LAST },
    }
  }

  /** Reads the first events of a range. `rest` is what remains; `undefined` if all events were read. */
  read({ session, after, to }: SegmentRange, limit: number): { events: Event[]; rest: SegmentRange | undefined } {
    const bounds = [session, after.place, after.seq, to.place, to.seq] as const
    const rows = this.#sql.earlier.all(...bounds, limit)
    if (rows.length < limit) rows.push(...this.#sql.newest.all(...bounds, limit - rows.length))
    const last = rows.at(-1)
    const rest =
      last && rows.length === limit
        ? { session, to, after: { place: Number(last.place), seq: Number(last.seq) } }
        : undefined
    return { events: this.#events.decodeJoined(rows), rest }
  }

  #findSession(session_id: string): number | undefined {
    const id = this.#sql.find.get(session_id)?.id
    return id === undefined ? undefined : Number(id)
  }

  #locate(session: number, { run_id, seq }: EventPosition): SegmentPosition | undefined {
    const place = this.#sql.holding.get(session, run_id, seq)?.place
    return typeof place === 'number' ? { place, seq } : undefined
  }
}
