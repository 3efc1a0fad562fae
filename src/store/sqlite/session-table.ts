import type { EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import type { SessionFilter, SessionRow } from '../store.ts'
import type { EventTable, RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'
import type { StringDictionary } from './string-dictionary.ts'

/*
 * Invariants
 * 1. A row says which events opened and ended the session last; everything else about it is read from them.
 * 2. Opening or ending a segment changes one row, and adds one if there was a segment before: however many there are.
 */

interface SessionRecord {
  session_id: string
  project: string
  run_id: string
  segment: number
  holder: string | null
  cache_key: string | null
  opened_at: number
  opened_event: number
  ended_event: number | null
}

const SELECT = `
  SELECT session_id, sessions.project, newest.run_id, segment, cache_key, opened_at, opened_event, ended_event,
    CASE WHEN held.ended_at IS NULL THEN held.run_id END AS holder
  FROM sessions JOIN runs AS newest ON newest.id = sessions.run LEFT JOIN runs AS held ON held.id = sessions.holder`
const NEWEST_FIRST = 'ORDER BY sessions.id DESC LIMIT ?'
/** Those that were opened in a run. */
const IN_RUN = `sessions.id IN (
  SELECT session FROM events JOIN runs ON runs.id = events.run
  WHERE runs.run_id = ? AND word IN (SELECT id FROM words WHERE word = 'session:open' OR word LIKE 'session:open {%'))`

function statements(db: Database) {
  return {
    bySessionId: db.prepare(`${SELECT} WHERE session_id = ?`),
    openFirst: db.prepare(
      `UPDATE sessions SET project = ?, opened_at = ?, cache_key = ?, opened_event = ?, segment = ?, run = ?,
         from_seq = ?, holder = ?, place = 1
       WHERE id = ? AND opened_event IS NULL`,
    ),
    open: db.prepare(
      `UPDATE sessions SET project = ?, cache_key = ?, opened_event = ?, segment = ?, run = ?, holder = ?, to_seq = NULL
       WHERE id = ?`,
    ),
    moveOn: db.prepare(
      `INSERT INTO segments (session, place, run, from_seq, to_seq)
       SELECT id, place, run, from_seq, to_seq FROM sessions WHERE id = ? AND (run != ? OR segment != ?)`,
    ),
    placeNext: db.prepare('UPDATE sessions SET place = place + 1, from_seq = ? WHERE id = ?'),
    end: db.prepare(
      `UPDATE sessions SET ended_event = ?, holder = NULL, to_seq = CASE WHEN run = ? THEN ? ELSE to_seq END
       WHERE id = ? AND opened_event IS NOT NULL`,
    ),
    hold: db.prepare('UPDATE sessions SET holder = ? WHERE session_id = ?'),
    recent: db.prepare('SELECT session_id FROM sessions WHERE opened_event IS NOT NULL ORDER BY id DESC LIMIT 100'),
    listed: db.prepare(`${SELECT} WHERE sessions.project = ? ${NEWEST_FIRST}`),
    listedByRun: db.prepare(`${SELECT} WHERE ${IN_RUN} AND sessions.project = ? ${NEWEST_FIRST}`),
    listedByCacheKey: db.prepare(
      `${SELECT} WHERE sessions.project = ? AND sessions.cache_key = ? AND sessions.cache_key IS NOT NULL ${NEWEST_FIRST}`,
    ),
  }
}

/** Sessions: a row for every session id that an event names; those that were opened are sessions. */
export function sessionTable(db: Database, ids: StringDictionary, events: EventTable) {
  const sql = statements(db)

  function toRow(record: SessionRecord): SessionRow {
    const { opened_event, ended_event, session_id, project, run_id, segment, holder, cache_key, opened_at } = record
    const opened = events.at(opened_event)
    const ended = ended_event === null ? undefined : events.at(ended_event)
    const open = isEvent(opened, 'session:open') ? opened.data : undefined
    const end = isEvent(ended, 'session:end') ? ended : undefined
    const running = ended_event === null || ended_event < opened_event
    return {
      session_id,
      project,
      run_id,
      parent_session_id: open?.parent_session_id ?? null,
      agent: open?.agent.name ?? '',
      depth: open?.depth ?? 0,
      status: running || !end ? 'running' : end.data.status,
      stop_reason: running ? null : (end?.data.stop_reason ?? null),
      segment,
      turn_count: end?.data.turn_count ?? 0,
      text: typeof end?.data.text === 'string' ? end.data.text : '',
      usage: end?.data.usage ?? { ...NO_USAGE, calls: 0 },
      holder,
      cache_key,
      opened_at,
      ended_at: running ? null : (end?.at ?? null),
    }
  }

  return {
    row(session_id: string): SessionRow | undefined {
      const found = sql.bySessionId.get(session_id) as SessionRecord | undefined
      return found && toRow(found)
    },
    open({ data, session_id, seq, at }: EventOf<'session:open'>, run: RunKey, event: number): void {
      if (session_id === undefined) return
      const id = ids.intern(session_id)
      const { segment, cache_key = null } = data
      const first = sql.openFirst.run(run.project, at, cache_key, event, segment, run.id, seq, run.id, id)
      if (first.changes === 1) return
      // The same segment of the same run goes on after an interruption; any other is the next.
      if (sql.moveOn.run(id, run.id, segment).changes === 1) sql.placeNext.run(seq, id)
      sql.open.run(run.project, cache_key, event, segment, run.id, run.id, id)
    },
    end({ session_id, seq }: EventOf<'session:end'>, run: RunKey, event: number): void {
      if (session_id !== undefined) sql.end.run(event, run.id, seq, ids.intern(session_id))
    },
    hold(session_id: string, run: RunKey): void {
      sql.hold.run(run.id, session_id)
    },
    list({ project, run_id, cache_key, limit = -1 }: SessionFilter): SessionRow[] {
      return (listRecords(project, run_id, cache_key, limit) as unknown as SessionRecord[]).map(toRow)
    },
    recentIds(): string[] {
      return sql.recent.all().map((row) => String(row.session_id))
    },
  }

  function listRecords(project: string, run_id: string | undefined, cache_key: string | undefined, limit: number) {
    if (cache_key === undefined) {
      return run_id === undefined ? sql.listed.all(project, limit) : sql.listedByRun.all(run_id, project, limit)
    }
    const rows = sql.listedByCacheKey.all(project, cache_key, run_id === undefined ? limit : -1)
    if (run_id === undefined) return rows
    const inRun = new Set(sql.listedByRun.all(run_id, project, -1).map((row) => row.session_id))
    return rows.filter((row) => inRun.has(row.session_id)).slice(0, limit < 0 ? undefined : limit)
  }
}

export type SessionTable = ReturnType<typeof sessionTable>
