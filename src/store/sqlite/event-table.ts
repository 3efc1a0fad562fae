import type { Event } from '../../kernel/event.ts'
import type { EventRange } from '../store.ts'
import type { BlobTable } from './blob-table.ts'
import { EventDecoder } from './event-decoder.ts'
import type { EncodedEvent } from './event-encoder.ts'
import type { Database } from './node-sqlite.ts'
import type { StringDictionary } from './string-dictionary.ts'
import { formatRefs, isBackRef, parseRefs } from './value-refs.ts'

/** A run as events refer to it. */
export interface RunKey {
  id: number
  run_id: string
  project: string
}

/** A row of the journal. */
export interface EventRecord {
  seq: number
  at: number
  word: number
  session: number | null
  data: string
  refs: string | null
}

/** A row of whichever run, with what its run says about it. */
export interface JoinedEventRecord extends EventRecord {
  run: number
  run_id: string
  project: string
}

const COLUMNS = 'seq, at, word, session, data, refs'
/** What `PlacedRecord` needs, of events joined with runs. */
export const JOINED_COLUMNS = `events.run, runs.run_id, runs.project, ${COLUMNS}`

interface EventTableDeps {
  dictionary: StringDictionary
  sessionIds: StringDictionary
  blobs: BlobTable
}

function statements(db: Database) {
  const range = `SELECT ${COLUMNS} FROM events WHERE run = ? AND seq > ? AND seq <= ?`
  return {
    insert: db.prepare('INSERT INTO events (run, seq, at, word, session, data, refs) VALUES (?, ?, ?, ?, ?, ?, ?)'),
    byId: db.prepare(`SELECT ${JOINED_COLUMNS} FROM events JOIN runs ON runs.id = events.run WHERE events.id = ?`),
    range: db.prepare(`${range} ORDER BY seq LIMIT ?`),
    rangeOfSession: db.prepare(`${range} AND session = ? ORDER BY seq LIMIT ?`),
    dataOf: db.prepare(
      `SELECT run, seq, data FROM json_each(?) AS asked
       CROSS JOIN events ON run = asked.value ->> 0 AND seq = asked.value ->> 1`,
    ),
  }
}

/** The journal: rows in the order they were committed. */
export function eventTable(db: Database, { dictionary, sessionIds, blobs }: EventTableDeps) {
  const sql = statements(db)
  const decoder = new EventDecoder(dictionary, blobs)

  /** Rows that were read together, as events; `runOf` tells whose they are. */
  function toEvents<R extends EventRecord>(records: readonly R[], runOf: (record: R) => RunKey, omittedField?: string) {
    const others = othersOf(records, runOf)
    const site = { omittedField, dataOf: (run: number, seq: number) => others.get(eventRowKey(run, seq)) }
    return records.map((record): Event => {
      const { seq, at, session } = record
      const run = runOf(record)
      const { type, data } = decoder.decode(record, run, site)
      if (session === null) return { run_id: run.run_id, seq, at, type, data } as Event
      return { run_id: run.run_id, seq, at, type, session_id: sessionIds.stringFor(session), data } as Event
    })
  }

  /** The data of the events that these refer to, read in one go. */
  function othersOf<R extends EventRecord>(records: readonly R[], runOf: (record: R) => RunKey): Map<string, string> {
    const wanted = new Map<string, [run: number, seq: number]>()
    const found = new Map<string, string>()
    for (const record of records) {
      if (record.refs === null) continue
      const { id } = runOf(record)
      for (const ref of parseRefs(record.refs)) if (isBackRef(ref)) wanted.set(eventRowKey(id, ref[1]), [id, ref[1]])
    }
    if (wanted.size === 0) return found
    for (const record of records) {
      const place = eventRowKey(runOf(record).id, record.seq)
      if (wanted.delete(place)) found.set(place, record.data)
    }
    if (wanted.size === 0) return found
    for (const row of sql.dataOf.all(JSON.stringify([...wanted.values()]))) {
      found.set(eventRowKey(Number(row.run), Number(row.seq)), String(row.data))
    }
    return found
  }

  /** Events of whichever runs. */
  function placed(rows: unknown[], without?: string): Event[] {
    return toEvents(rows as JoinedEventRecord[], ({ run, run_id, project }) => ({ id: run, run_id, project }), without)
  }

  return {
    placed,
    /** Returns the row's number, by which gates, artifacts and sessions refer to the event. */
    insert(run: RunKey, event: Event, encoded: EncodedEvent): number {
      const { descriptor, data, payloads, snapshots } = encoded
      for (const { hash, bytes } of payloads) blobs.put(run.project, hash, bytes)
      const refs = formatRefs(
        encoded,
        snapshots.map(({ json }) => blobs.snapshot(run.project, json)),
      )
      const session = event.session_id === undefined ? null : sessionIds.intern(event.session_id)
      const written = sql.insert.run(run.id, event.seq, event.at, dictionary.intern(descriptor), session, data, refs)
      return Number(written.lastInsertRowid)
    },
    /** `without` names a field whose blob is not wanted. */
    at(id: number, without?: string): Event | undefined {
      return placed(sql.byId.all(id), without)[0]
    },
    range(run: RunKey, { after = 0, to, limit, session_id }: EventRange): Event[] {
      const [last, most] = [to ?? Number.MAX_SAFE_INTEGER, limit ?? -1]
      const session = session_id === undefined ? null : sessionIds.findId(session_id)
      if (session === undefined) return []
      const rows =
        session === null
          ? sql.range.all(run.id, after, last, most)
          : sql.rangeOfSession.all(run.id, after, last, session, most)
      return toEvents(rows as unknown as EventRecord[], () => run)
    },
    commit(): void {
      dictionary.commit()
      sessionIds.commit()
      blobs.commit()
    },
    rollback(): void {
      dictionary.rollback()
      sessionIds.rollback()
      blobs.rollback()
      decoder.clear()
    },
  }
}

export type EventTable = ReturnType<typeof eventTable>

function eventRowKey(run: number, seq: number): string {
  return `${run} ${seq}`
}
