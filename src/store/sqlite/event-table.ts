import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { EventRange } from '../store.ts'
import type { BlobTable } from './blob-table.ts'
import type { ChainCheck, ChainedRecord } from './event-chain.ts'
import { chainHash } from './event-chain.ts'
import type { BlobMarker, EncodedData } from './event-data.ts'
import { contentHash, decodeData } from './event-data.ts'
import type { Database } from './node-sqlite.ts'
import type { SessionIds } from './session-ids.ts'

/** The keys of a run: `id` is its row id. */
export interface RunKey {
  id: number
  run_id: string
  project: string
}

interface EventRecord {
  seq: number
  at: number
  type: string
  session_id: string | null
  data: string
}

/** A row joined with its run. */
interface JoinedEventRecord extends EventRecord {
  run_id: string
  project: string
}

const COLUMNS = 'seq, at, events.type, sessions.session_id, data'
/** The columns of `JoinedEventRecord`, for queries over `events`, `runs` and `sessions`. */
export const JOINED_COLUMNS = `runs.run_id, runs.project, ${COLUMNS}`

const MAX_ROWS_PER_INSERT = 16
const COLUMNS_PER_ROW = 7

function statements(db: Database) {
  const range = `SELECT ${COLUMNS}, hash FROM events LEFT JOIN sessions ON sessions.id = events.session
    WHERE events.run = ? AND seq > ? AND seq <= ?`
  return {
    byId: db.prepare(
      `SELECT ${JOINED_COLUMNS} FROM events JOIN runs ON runs.id = events.run
       LEFT JOIN sessions ON sessions.id = events.session WHERE events.id = ?`,
    ),
    range: db.prepare(`${range} ORDER BY seq LIMIT ?`),
    // `CROSS JOIN` fixes the join order: the runs are the given ones, and each is one range of an index.
    ofRuns: db.prepare(
      `SELECT ${JOINED_COLUMNS} FROM json_each(?) AS wanted CROSS JOIN runs ON runs.run_id = wanted.value
       CROSS JOIN events ON events.run = runs.id LEFT JOIN sessions ON sessions.id = events.session
       WHERE events.type IN (SELECT value FROM json_each(?)) ORDER BY wanted.key, seq`,
    ),
    rangeOfSession: db.prepare(`${range} AND events.session = ? ORDER BY seq LIMIT ?`),
  }
}

/** The journals of all runs, in commit order. */
export class EventTable {
  readonly #db: Database
  readonly #sql
  /** By number of rows. */
  readonly #inserts = new Map<number, StatementSync>()
  readonly #sessionIds: SessionIds
  readonly #blobs: BlobTable

  constructor(db: Database, sessionIds: SessionIds, blobs: BlobTable) {
    this.#db = db
    this.#sql = statements(db)
    this.#sessionIds = sessionIds
    this.#blobs = blobs
  }

  /**
   * Returns the hash of the last event, and the row id of the first, by which gates, artifacts and sessions refer to it. The others follow
   * without a gap: SQLite assigns the greatest row id plus 1, and the transaction keeps other writers out.
   */
  insert(
    run: RunKey & { hash: string | null },
    events: readonly Event[],
    encoded: readonly EncodedData[],
  ): { firstId: number; hash: string } {
    let last = 0
    let hash = run.hash ?? run.run_id
    for (let start = 0; start < events.length; start += MAX_ROWS_PER_INSERT) {
      const values: SQLInputValue[] = []
      for (const [index, event] of events.slice(start, start + MAX_ROWS_PER_INSERT).entries()) {
        const { data = '{}', blobs = [] } = encoded[start + index] ?? {}
        for (const blob of blobs) this.#blobs.put(run.project, blob)
        const session = event.session_id === undefined ? null : this.#sessionIds.intern(event.session_id)
        const { seq, at, type, session_id = null } = event
        hash = chainHash(hash, { seq, at, type, session_id, data })
        values.push(run.id, seq, at, type, session, data, hash)
      }
      last = Number(this.#insertStatement(values.length / COLUMNS_PER_ROW).run(...values).lastInsertRowid)
    }
    return { firstId: last - events.length + 1, hash }
  }

  /** Reads one event. The blob of `omittedField` is not loaded. */
  byId(id: number, omittedField?: string): Event | undefined {
    return this.decodeJoined(this.#sql.byId.all(id), omittedField)[0]
  }

  /** With `chain`, throws `store_corrupt` if the stored events or their values are not what was appended. */
  range(run: RunKey, { after = 0, to, limit, session_id }: EventRange, chain?: ChainCheck): Event[] {
    const [lastSeq, maxRows] = [to ?? Number.MAX_SAFE_INTEGER, limit ?? -1]
    const session = session_id === undefined ? null : this.#sessionIds.find(session_id)
    if (session === undefined) return []
    const rows: unknown[] =
      session === null
        ? this.#sql.range.all(run.id, after, lastSeq, maxRows)
        : this.#sql.rangeOfSession.all(run.id, after, lastSeq, session, maxRows)
    return (rows as ChainedRecord[]).map((record) => {
      if (!chain) return this.#decode(record, run)
      // Gaps are reported by the caller, who knows the last `seq`.
      const changed = chain.next(record).find(({ rule }) => rule === 'chain')
      const load = (marker: BlobMarker) => this.#loadVerified(marker, run, record)
      const event = toEvent(record, run.run_id, load)
      if (changed) throw changedError(run.run_id, changed.problem)
      return event
    })
  }

  /** Runs share agents, tools and limits: their values are loaded once. */
  ofRuns(run_ids: readonly string[], types: readonly string[]): Event[] {
    const rows: unknown[] = this.#sql.ofRuns.all(JSON.stringify(run_ids), JSON.stringify(types))
    const loaded = new Map<string, unknown>()
    return (rows as JoinedEventRecord[]).map((record) => {
      const load = (marker: BlobMarker) => {
        const key = `${marker.$blob}${record.project}`
        const value = loaded.has(key) ? loaded.get(key) : this.#blobs.load(record.project, marker)
        loaded.set(key, value)
        return value
      }
      return toEvent(record, record.run_id, load)
    })
  }

  /** Decodes rows with `JOINED_COLUMNS`, which may belong to different runs. */
  decodeJoined(rows: unknown[], omittedField?: string): Event[] {
    return (rows as JoinedEventRecord[]).map((record) => this.#decode(record, record, omittedField))
  }

  commit(): void {
    this.#sessionIds.commit()
    this.#blobs.commit()
  }

  /** Drops cached ids and hashes: another connection may have deleted their rows. */
  forgetRows(): void {
    this.#sessionIds.forget()
    this.#blobs.forget()
  }

  rollback(): void {
    this.#sessionIds.rollback()
    this.#blobs.rollback()
  }

  #loadVerified(marker: BlobMarker, { run_id, project }: RunKey, { seq }: EventRecord): unknown {
    const content = this.#blobs.content(project, marker)
    if (content !== undefined && contentHash(content) === marker.$blob) return JSON.parse(content)
    const problem = content === undefined ? 'is missing' : 'has changed content'
    throw changedError(run_id, `a value of event ${seq} ${problem} (blob ${marker.$blob}, ${marker.size} bytes)`)
  }

  #insertStatement(rows: number): StatementSync {
    const known = this.#inserts.get(rows)
    if (known) return known
    const values = Array.from({ length: rows }, () => '(?, ?, ?, ?, ?, ?, ?)').join(', ')
    const statement = this.#db.prepare(`INSERT INTO events (run, seq, at, type, session, data, hash) VALUES ${values}`)
    this.#inserts.set(rows, statement)
    return statement
  }

  #decode(record: EventRecord, run: Omit<RunKey, 'id'>, omittedField?: string): Event {
    const load = (marker: BlobMarker, field: string) =>
      field === omittedField ? null : this.#blobs.load(run.project, marker)
    return toEvent(record, run.run_id, load)
  }
}

function changedError(run_id: string, problem: string): TroupeError {
  return new TroupeError('store_corrupt', `the journal of run ${run_id} is damaged: ${problem}; nothing was executed`, {
    hint: `restore a backup of the store; find all damage with: troupe verify ${run_id}`,
  })
}

function decodeEvent(
  json: string,
  load: (marker: BlobMarker, field: string) => unknown,
  { run_id, seq }: { run_id: string; seq: number },
): unknown {
  try {
    return decodeData(json, load)
  } catch (cause) {
    if (cause instanceof TroupeError) throw cause
    throw new TroupeError('store_corrupt', `event ${seq} of run ${run_id} is damaged: its data is not JSON`, {
      hint: 'nothing was changed; restore a backup of the store; find all damage with: troupe verify',
      cause,
    })
  }
}

function toEvent(
  { seq, at, type, session_id, data: json }: EventRecord,
  run_id: string,
  load: (marker: BlobMarker, field: string) => unknown,
): Event {
  const data = decodeEvent(json, load, { run_id, seq })
  if (session_id === null) return { run_id, seq, at, type, data } as Event
  return { run_id, seq, at, type, session_id, data } as Event
}
