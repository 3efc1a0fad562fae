import type { Event } from '../../kernel/event.ts'
import type { EventPosition, Segment, SessionRange } from '../store.ts'
import type { EventTable } from './event-table.ts'
import { JOINED_COLUMNS } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/** Where an event of a session stands: in which segment, counted from 1, and where in it. */
export interface SegmentPosition {
  place: number
  seq: number
}

/** A stretch of a session: after one position, up to and with another. */
export interface SegmentRange {
  session: number
  after: SegmentPosition
  to: SegmentPosition
}

const LAST = Number.MAX_SAFE_INTEGER
/** Earlier segments, and the newest one, which is in the row of its session. */
const EARLIER = 'SELECT place, run, from_seq, to_seq FROM segments WHERE session = ?1'
const NEWEST = 'SELECT place, run, from_seq, to_seq FROM sessions WHERE id = ?1 AND opened_event IS NOT NULL'
const ALL = `(${EARLIER} UNION ALL ${NEWEST})`

/** `CROSS JOIN` keeps SQLite from reading whole runs to find the segments in them. */
function eventsQuery(parts: string): string {
  return `
    SELECT ${JOINED_COLUMNS}, part.place FROM (${parts} AND place BETWEEN ?2 AND ?4) AS part
    CROSS JOIN events ON events.run = part.run
      AND seq >= CASE part.place WHEN ?2 THEN max(from_seq, ?3 + 1) ELSE from_seq END
      AND seq <= CASE part.place WHEN ?4 THEN min(coalesce(to_seq, ${LAST}), ?5) ELSE coalesce(to_seq, ${LAST}) END
    CROSS JOIN runs ON runs.id = events.run
    WHERE events.session = ?1 ORDER BY part.place, seq LIMIT ?6`
}

function statements(db: Database) {
  return {
    find: db.prepare('SELECT id FROM sessions WHERE session_id = ? AND opened_event IS NOT NULL'),
    listed: db.prepare(
      `SELECT run_id, from_seq, to_seq FROM ${ALL} JOIN runs ON runs.id = run WHERE place >= ?2 ORDER BY place`,
    ),
    // The first segment that reaches it: one that ended before is not where it stands.
    holding: db.prepare(
      `SELECT min(place) AS place FROM ${ALL}
       WHERE run = (SELECT id FROM runs WHERE run_id = ?2) AND (to_seq IS NULL OR to_seq >= ?3)`,
    ),
    earlier: db.prepare(eventsQuery(EARLIER)),
    newest: db.prepare(eventsQuery(NEWEST)),
  }
}

/** The parts of a session, which may lie in different runs. */
export function segmentTable(db: Database, events: EventTable) {
  const sql = statements(db)

  function positionOf(session: number, { run_id, seq }: EventPosition): SegmentPosition | undefined {
    const place = sql.holding.get(session, run_id, seq)?.place
    return typeof place === 'number' ? { place, seq } : undefined
  }

  return {
    list(session_id: string, from: EventPosition | undefined): Segment[] {
      const session = sql.find.get(session_id)?.id
      if (session === undefined) return []
      const place = from === undefined ? 1 : (positionOf(Number(session), from)?.place ?? 1)
      return sql.listed.all(Number(session), place).map(({ run_id, from_seq, to_seq }) => ({
        run_id: String(run_id),
        from: Number(from_seq),
        to: to_seq === null ? null : Number(to_seq),
      }))
    },
    /** Which events these are, or `undefined` if there is no such session. */
    resolveRange(session_id: string, { after, to }: SessionRange): SegmentRange | undefined {
      const session = sql.find.get(session_id)?.id
      if (session === undefined) return undefined
      const id = Number(session)
      return {
        session: id,
        after: (after && positionOf(id, after)) ?? { place: 1, seq: 0 },
        to: (to && positionOf(id, to)) ?? { place: LAST, seq: LAST },
      }
    },
    /** The first events of a stretch, and what is left of it; nothing is left when all were read. */
    read({ session, after, to }: SegmentRange, limit: number): { events: Event[]; rest: SegmentRange | undefined } {
      const asked = [session, after.place, after.seq, to.place, to.seq] as const
      const rows = sql.earlier.all(...asked, limit)
      if (rows.length < limit) rows.push(...sql.newest.all(...asked, limit - rows.length))
      const last = rows.at(-1)
      const rest =
        last && rows.length === limit
          ? { session, to, after: { place: Number(last.place), seq: Number(last.seq) } }
          : undefined
      return { events: events.placed(rows), rest }
    },
  }
}

export type SegmentTable = ReturnType<typeof segmentTable>
