import type { Event } from '../../kernel/event.ts'
import type { EventRange } from '../store.ts'
import type { BlobTable } from './blobs.ts'
import type { DataRecord } from './decoding.ts'
import { Decoder } from './decoding.ts'
import type { Encoded } from './encoding.ts'
import type { Database } from './node-sqlite.ts'
import { isRepeat, readRefs, refsOf } from './refs.ts'
import type { Words } from './words.ts'

/** A run as events refer to it. */
export interface RunKey {
  id: number
  run_id: string
  project: string
}

/** A row of the journal, with what its run says about it. */
export interface EventRecord extends DataRecord {
  run_id: string
  at: number
  session: number | null
}

/** What `EventRecord` needs, of events joined with runs. */
export const EVENT_COLUMNS = 'events.run, runs.run_id, runs.project, seq, at, word, session, data, refs'

interface EventParts {
  words: Words
  ids: Words
  blobs: BlobTable
}

function statements(db: Database) {
  const select = `SELECT ${EVENT_COLUMNS} FROM events JOIN runs ON runs.id = events.run`
  const range = `${select} WHERE events.run = ? AND seq > ? AND seq <= ?`
  return {
    insert: db.prepare('INSERT INTO events (run, seq, at, word, session, data, refs) VALUES (?, ?, ?, ?, ?, ?, ?)'),
    byId: db.prepare(`${select} WHERE events.id = ?`),
    range: db.prepare(`${range} ORDER BY seq LIMIT ?`),
    rangeOfSession: db.prepare(`${range} AND session = ? ORDER BY seq LIMIT ?`),
    dataOf: db.prepare(
      `SELECT run, seq, data FROM json_each(?) AS asked
       CROSS JOIN events ON run = asked.value ->> 0 AND seq = asked.value ->> 1`,
    ),
  }
}

/** The journal: rows in the order they were committed. */
export function eventTable(db: Database, { words, ids, blobs }: EventParts) {
  const sql = statements(db)
  const decoder = new Decoder(words, blobs)

  /** Rows that were read together, as events. */
  function toEvents(rows: unknown[], without?: string): Event[] {
    const records = rows as EventRecord[]
    const others = othersOf(records)
    const site = { without, other: (run: number, seq: number) => others.get(placeOf(run, seq)) }
    return records.map((record) => {
      const { run_id, seq, at, session } = record
      const { type, data } = decoder.decode(record, site)
      if (session === null) return { run_id, seq, at, type, data } as Event
      return { run_id, seq, at, type, session_id: ids.word(session), data } as Event
    })
  }

  /** The data of the events that these refer to, read in one go. */
  function othersOf(records: readonly EventRecord[]): Map<string, string> {
    const wanted = new Map<string, [run: number, seq: number]>()
    for (const { run, refs } of records) {
      if (refs === null) continue
      for (const ref of readRefs(refs)) if (isRepeat(ref)) wanted.set(placeOf(run, ref[1]), [run, ref[1]])
    }
    const found = new Map<string, string>()
    if (wanted.size === 0) return found
    for (const { run, seq, data } of records) if (wanted.delete(placeOf(run, seq))) found.set(placeOf(run, seq), data)
    if (wanted.size === 0) return found
    for (const row of sql.dataOf.all(JSON.stringify([...wanted.values()]))) {
      found.set(placeOf(Number(row.run), Number(row.seq)), String(row.data))
    }
    return found
  }

  return {
    toEvents,
    /** Returns the row's number, by which gates, artifacts and sessions refer to the event. */
    insert(run: RunKey, event: Event, encoded: Encoded): number {
      const { word, data, payloads, snapshots } = encoded
      for (const { hash, bytes } of payloads) blobs.put(run.project, hash, bytes)
      const refs = refsOf(
        encoded,
        snapshots.map(({ json }) => blobs.snapshot(run.project, json)),
      )
      const session = event.session_id === undefined ? null : ids.number(event.session_id)
      const written = sql.insert.run(run.id, event.seq, event.at, words.number(word), session, data, refs)
      return Number(written.lastInsertRowid)
    },
    /** `without` names a field whose blob is not wanted. */
    at(id: number, without?: string): Event | undefined {
      return toEvents(sql.byId.all(id), without)[0]
    },
    range(run: RunKey, { after = 0, to, limit, session_id }: EventRange): Event[] {
      const [last, most] = [to ?? Number.MAX_SAFE_INTEGER, limit ?? -1]
      if (session_id === undefined) return toEvents(sql.range.all(run.id, after, last, most))
      const session = ids.find(session_id)
      return session === undefined ? [] : toEvents(sql.rangeOfSession.all(run.id, after, last, session, most))
    },
    keep(): void {
      words.keep()
      ids.keep()
      blobs.keep()
    },
    forget(): void {
      words.forget()
      ids.forget()
      blobs.forget()
      decoder.forget()
    },
  }
}

export type EventTable = ReturnType<typeof eventTable>

function placeOf(run: number, seq: number): string {
  return `${run} ${seq}`
}
