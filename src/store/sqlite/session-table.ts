import type { EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import type { SessionFilter, SessionRow } from '../store.ts'
import type { EventTable, RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'
import type { SessionIds } from './session-ids.ts'

/*
 * Invariants
 * 1. A row points at the last `session:open` and `session:end`; most other columns of `SessionRow` are read from them.
 * 2. Opening or ending a segment updates one row and inserts at most one, however many segments the session has.
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

/** The columns of a session that decide whether a run may continue it, and where its newest segment is. */
interface ClaimableSession {
  id: number
  run_id: string
  from_seq: number
  to_seq: number | null
  opened_event: number
  holder: string | null
}

const HOLDER = 'CASE WHEN holding.ended_at IS NULL THEN holding.run_id END AS holder'
const FROM = `FROM sessions JOIN runs AS newest ON newest.id = sessions.run
  LEFT JOIN runs AS holding ON holding.id = sessions.holder`
const SELECT = `
  SELECT session_id, sessions.project, newest.run_id, segment, cache_key, opened_at, opened_event, ended_event, ${HOLDER}
  ${FROM}`
const NEWEST_FIRST = 'AND sessions.id < ? ORDER BY sessions.id DESC LIMIT ?'
const IN_RUN = `sessions.id IN (
  SELECT session FROM events JOIN runs ON runs.id = events.run WHERE runs.run_id = ? AND type = 'session:open')`

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
    archiveSegment: db.prepare(
      `INSERT INTO segments (session, place, run, from_seq, to_seq)
       SELECT id, place, run, from_seq, to_seq FROM sessions WHERE id = ? AND (run != ? OR segment != ?)`,
    ),
    beginSegment: db.prepare('UPDATE sessions SET place = place + 1, from_seq = ? WHERE id = ?'),
    end: db.prepare(
      `UPDATE sessions SET ended_event = ?, holder = NULL, to_seq = CASE WHEN run = ? THEN ? ELSE to_seq END
       WHERE id = ? AND opened_event IS NOT NULL`,
    ),
    claimable: db.prepare(
      `SELECT sessions.id, newest.run_id, from_seq, to_seq, opened_event, ${HOLDER} ${FROM}
       WHERE session_id = ? AND sessions.project = ? AND opened_event IS NOT NULL`,
    ),
    setHolder: db.prepare('UPDATE sessions SET holder = ? WHERE id = ?'),
    recent: db.prepare(
      'SELECT session_id FROM sessions WHERE project = ? AND opened_event IS NOT NULL ORDER BY id DESC LIMIT 100',
    ),
    list: db.prepare(`${SELECT} WHERE sessions.project = ? ${NEWEST_FIRST}`),
    listByRun: db.prepare(`${SELECT} WHERE ${IN_RUN} AND sessions.project = ? ${NEWEST_FIRST}`),
    listByCacheKey: db.prepare(
      `${SELECT} WHERE sessions.project = ? AND sessions.cache_key = ? AND sessions.cache_key IS NOT NULL ${NEWEST_FIRST}`,
    ),
  }
}

/** Sessions. Every session id that an event names has a row; it is a session once it has been opened. */
export class SessionTable {
  readonly #sql
  readonly #ids: SessionIds
  readonly #events: EventTable

  constructor(db: Database, ids: SessionIds, events: EventTable) {
    this.#sql = statements(db)
    this.#ids = ids
    this.#events = events
  }

  row(session_id: string): SessionRow | undefined {
    const found = this.#sql.bySessionId.get(session_id) as SessionRecord | undefined
    return found && this.#toRow(found)
  }

  open({ data, session_id, seq, at }: EventOf<'session:open'>, run: RunKey, event: number): void {
    if (session_id === undefined) return
    const id = this.#ids.intern(session_id)
    const { segment, cache_key = null } = data
    const first = this.#sql.openFirst.run(run.project, at, cache_key, event, segment, run.id, seq, run.id, id)
    if (first.changes === 1) return
    // After an interruption, the same run continues the same segment; otherwise a new segment begins.
    if (this.#sql.archiveSegment.run(id, run.id, segment).changes === 1) this.#sql.beginSegment.run(seq, id)
    this.#sql.open.run(run.project, cache_key, event, segment, run.id, run.id, id)
  }

  end({ session_id, seq }: EventOf<'session:end'>, run: RunKey, event: number): void {
    if (session_id !== undefined) this.#sql.end.run(event, run.id, seq, this.#ids.intern(session_id))
  }

  claimable(session_id: string, project: string): ClaimableSession | undefined {
    return this.#sql.claimable.get(session_id, project) as ClaimableSession | undefined
  }

  agentOf({ opened_event }: ClaimableSession): string | undefined {
    const opened = this.#events.byId(opened_event)
    return isEvent(opened, 'session:open') ? opened.data.agent.name : undefined
  }

  setHolder({ id }: ClaimableSession, run: RunKey): void {
    this.#sql.setHolder.run(run.id, id)
  }

  list(filter: SessionFilter): SessionRow[] {
    return (this.#select(filter) as SessionRecord[]).map((record) => this.#toRow(record))
  }

  recent(project: string): Pick<SessionRow, 'session_id'>[] {
    return this.#sql.recent.all(project).map((row) => ({ session_id: String(row.session_id) }))
  }

  #select({ project, run_id, cache_key, before, limit = -1 }: SessionFilter): unknown[] {
    const beforeId = before === undefined ? Number.MAX_SAFE_INTEGER : (this.#ids.find(before) ?? 0)
    if (cache_key === undefined) {
      return run_id === undefined
        ? this.#sql.list.all(project, beforeId, limit)
        : this.#sql.listByRun.all(run_id, project, beforeId, limit)
    }
    const rows = this.#sql.listByCacheKey.all(project, cache_key, beforeId, run_id === undefined ? limit : -1)
    if (run_id === undefined) return rows
    const inRun = new Set(this.#sql.listByRun.all(run_id, project, beforeId, -1).map((row) => row.session_id))
    return rows.filter((row) => inRun.has(row.session_id)).slice(0, limit < 0 ? undefined : limit)
  }

  #toRow({ opened_event, ended_event, ...columns }: SessionRecord): SessionRow {
    const { session_id, project, run_id, segment, holder, cache_key, opened_at } = columns
    const opened = this.#events.byId(opened_event)
    const ended = ended_event === null ? undefined : this.#events.byId(ended_event)
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
}
