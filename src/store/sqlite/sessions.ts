import { isEvent } from '../../kernel/event.ts'
import type { SessionFilter, SessionRow } from '../store.ts'
import type { EventTable, RunKey } from './events.ts'
import type { Database } from './node-sqlite.ts'
import type { Words } from './words.ts'

interface SessionRecord {
  id: number
  project: string
  run_id: string
  holder: string | null
  cache_key: string | null
  ended_event: number | null
  facts: string
}

/** What a row keeps as JSON: whatever nobody looks a session up by. */
type Facts = Omit<SessionRow, 'session_id' | 'project' | 'run_id' | 'holder' | 'cache_key' | 'text'>

const SELECT = `
  SELECT sessions.id, sessions.project, newest.run_id, sessions.cache_key, ended_event, facts,
    CASE WHEN held.ended_at IS NULL THEN held.run_id END AS holder
  FROM sessions JOIN runs AS newest ON newest.id = sessions.run LEFT JOIN runs AS held ON held.id = sessions.holder`
const NEWEST_FIRST = 'ORDER BY sessions.id DESC LIMIT ?'
const IN_RUN = `sessions.id IN (SELECT session FROM run_sessions JOIN runs ON runs.id = run WHERE runs.run_id = ?)`

function statements(db: Database) {
  return {
    byId: db.prepare(`${SELECT} WHERE sessions.id = ?`),
    upsert: db.prepare(
      `INSERT INTO sessions (id, project, run, holder, cache_key, ended_event, facts) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET run = excluded.run, holder = excluded.holder, cache_key = excluded.cache_key,
         ended_event = coalesce(excluded.ended_event, ended_event), facts = excluded.facts`,
    ),
    join: db.prepare('INSERT INTO run_sessions (run, session) VALUES (?, ?) ON CONFLICT DO NOTHING'),
    hold: db.prepare('UPDATE sessions SET holder = ? WHERE id = ?'),
    recent: db.prepare('SELECT word FROM sessions JOIN words USING (id) ORDER BY id DESC LIMIT 100'),
    listed: db.prepare(`${SELECT} WHERE sessions.project = ? ${NEWEST_FIRST}`),
    listedByRun: db.prepare(`${SELECT} WHERE ${IN_RUN} AND sessions.project = ? ${NEWEST_FIRST}`),
    listedByCacheKey: db.prepare(
      `${SELECT} WHERE sessions.project = ? AND sessions.cache_key = ? AND sessions.cache_key IS NOT NULL ${NEWEST_FIRST}`,
    ),
  }
}

/** Sessions: a row's number is that of its id among the words. */
export function sessionTable(db: Database, words: Words, events: EventTable) {
  const sql = statements(db)

  function toRow(record: SessionRecord, text: string): SessionRow {
    const { id, project, run_id, holder, cache_key, facts } = record
    return { session_id: words.word(id), project, run_id, holder, cache_key, text, ...(JSON.parse(facts) as Facts) }
  }

  /** A text lives in the event that ended the segment, which may be in an earlier run. */
  function textOf({ ended_event, project, run_id }: SessionRecord): string {
    if (ended_event === null) return ''
    const event = events.at({ id: 0, run_id, project }, ended_event)
    return isEvent(event, 'session:end') && typeof event.data.text === 'string' ? event.data.text : ''
  }

  function find(session_id: string): SessionRecord | undefined {
    const id = words.find(session_id)
    return id === undefined ? undefined : (sql.byId.get(id) as SessionRecord | undefined)
  }

  return {
    row(session_id: string): SessionRow | undefined {
      const found = find(session_id)
      return found && toRow(found, textOf(found))
    },
    /** The row without its text, for who only changes it. */
    bare(session_id: string): SessionRow | undefined {
      const found = find(session_id)
      return found && toRow(found, '')
    },
    put(row: SessionRow, run: RunKey, ended_event: number | null): void {
      const { session_id, project, run_id: _run, holder, cache_key, text: _text, ...facts } = row
      const id = words.number(session_id)
      const held = holder === null ? null : run.id
      sql.upsert.run(id, project, run.id, held, cache_key, ended_event, JSON.stringify(facts satisfies Facts))
      if (ended_event === null) sql.join.run(run.id, id)
    },
    hold(session_id: string, run: RunKey): void {
      sql.hold.run(run.id, words.number(session_id))
    },
    list({ project, run_id, cache_key, limit = -1 }: SessionFilter): SessionRow[] {
      const rows = listRecords(project, run_id, cache_key, limit) as unknown as SessionRecord[]
      return rows.map((record) => toRow(record, textOf(record)))
    },
    recent(): string[] {
      return sql.recent.all().map((row) => String(row.word))
    },
  }

  function listRecords(project: string, run_id: string | undefined, cache_key: string | undefined, limit: number) {
    if (cache_key === undefined) {
      return run_id === undefined ? sql.listed.all(project, limit) : sql.listedByRun.all(run_id, project, limit)
    }
    const rows = sql.listedByCacheKey.all(project, cache_key, run_id === undefined ? limit : -1)
    if (run_id === undefined) return rows
    const inRun = new Set(sql.listedByRun.all(run_id, project, -1).map((row) => row.id))
    return rows.filter((row) => inRun.has(row.id)).slice(0, limit < 0 ? undefined : limit)
  }
}

export type SessionTable = ReturnType<typeof sessionTable>
