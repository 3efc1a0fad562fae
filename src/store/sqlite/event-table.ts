import type { Event } from '../../kernel/event.ts'
import type { EventRange } from '../store.ts'
import type { BlobTable } from './blob-table.ts'
import { EventDecoder } from './event-decoder.ts'
import type { EncodedEvent } from './event-encoder.ts'
import type { Database } from './node-sqlite.ts'
import type { StringDictionary } from './string-dictionary.ts'
import { formatRefs, isBackRef, parseRefs } from './value-refs.ts'

/** The keys of a run: `id` is its row id. */
export interface RunKey {
  id: number
  run_id: string
  project: string
}

/** A row of the table `events`. `word` is the id of a descriptor in the string dictionary. */
interface EventRecord {
  seq: number
  at: number
  word: number
  session: number | null
  data: string
  refs: string | null
}

/** A row joined with its run. */
interface JoinedEventRecord extends EventRecord {
  run: number
  run_id: string
  project: string
}

const COLUMNS = 'seq, at, word, session, data, refs'
/** The columns of `JoinedEventRecord`, for queries over `events JOIN runs`. */
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
    referencedData: db.prepare(
      `SELECT run, seq, data FROM json_each(?) AS wanted
       CROSS JOIN events ON run = wanted.value ->> 0 AND seq = wanted.value ->> 1`,
    ),
  }
}

/** The journals of all runs, in commit order. */
export class EventTable {
  readonly #sql
  readonly #dictionary: StringDictionary
  readonly #sessionIds: StringDictionary
  readonly #blobs: BlobTable
  readonly #decoder: EventDecoder

  constructor(db: Database, { dictionary, sessionIds, blobs }: EventTableDeps) {
    this.#sql = statements(db)
    this.#dictionary = dictionary
    this.#sessionIds = sessionIds
    this.#blobs = blobs
    this.#decoder = new EventDecoder(dictionary, blobs)
  }

  /** Returns the row id, by which gates, artifacts and sessions refer to the event. */
  insert(run: RunKey, event: Event, encoded: EncodedEvent): number {
    const { descriptor, data, payloads, snapshots } = encoded
    for (const { hash, bytes } of payloads) this.#blobs.put(run.project, hash, bytes)
    const refs = formatRefs(
      encoded,
      snapshots.map(({ json }) => this.#blobs.snapshot(run.project, json)),
    )
    const session = event.session_id === undefined ? null : this.#sessionIds.intern(event.session_id)
    const word = this.#dictionary.intern(descriptor)
    const inserted = this.#sql.insert.run(run.id, event.seq, event.at, word, session, data, refs)
    return Number(inserted.lastInsertRowid)
  }

  /** Reads one event. The blob of `omittedField` is not loaded. */
  byId(id: number, omittedField?: string): Event | undefined {
    return this.decodeJoined(this.#sql.byId.all(id), omittedField)[0]
  }

  range(run: RunKey, { after = 0, to, limit, session_id }: EventRange): Event[] {
    const [lastSeq, maxRows] = [to ?? Number.MAX_SAFE_INTEGER, limit ?? -1]
    const session = session_id === undefined ? null : this.#sessionIds.findId(session_id)
    if (session === undefined) return []
    const rows =
      session === null
        ? this.#sql.range.all(run.id, after, lastSeq, maxRows)
        : this.#sql.rangeOfSession.all(run.id, after, lastSeq, session, maxRows)
    return this.#decode(rows as unknown as EventRecord[], () => run)
  }

  /** Decodes rows with `JOINED_COLUMNS`, which may belong to different runs. */
  decodeJoined(rows: unknown[], omittedField?: string): Event[] {
    const runOf = ({ run, run_id, project }: JoinedEventRecord) => ({ id: run, run_id, project })
    return this.#decode(rows as JoinedEventRecord[], runOf, omittedField)
  }

  commit(): void {
    this.#dictionary.commit()
    this.#sessionIds.commit()
    this.#blobs.commit()
  }

  rollback(): void {
    this.#dictionary.rollback()
    this.#sessionIds.rollback()
    this.#blobs.rollback()
    this.#decoder.clear()
  }

  #decode<R extends EventRecord>(records: readonly R[], runOf: (record: R) => RunKey, omittedField?: string): Event[] {
    const referenced = this.#readReferencedData(records, runOf)
    const context = {
      omittedField,
      referencedData: (run: number, seq: number) => referenced.get(eventRowKey(run, seq)),
    }
    return records.map((record): Event => {
      const { seq, at, session } = record
      const run = runOf(record)
      const { type, data } = this.#decoder.decode(record, run, context)
      if (session === null) return { run_id: run.run_id, seq, at, type, data } as Event
      return { run_id: run.run_id, seq, at, type, session_id: this.#sessionIds.stringFor(session), data } as Event
    })
  }

  /** Reads the data of the events that these back-reference, with one query for those that are not among the records. */
  #readReferencedData<R extends EventRecord>(records: readonly R[], runOf: (record: R) => RunKey): Map<string, string> {
    const found = new Map<string, string>()
    const wanted = backReferencedEvents(records, runOf)
    if (wanted.size === 0) return found
    for (const record of records) {
      const key = eventRowKey(runOf(record).id, record.seq)
      if (wanted.delete(key)) found.set(key, record.data)
    }
    if (wanted.size === 0) return found
    for (const row of this.#sql.referencedData.all(JSON.stringify([...wanted.values()]))) {
      found.set(eventRowKey(Number(row.run), Number(row.seq)), String(row.data))
    }
    return found
  }
}

function backReferencedEvents<R extends EventRecord>(records: readonly R[], runOf: (record: R) => RunKey) {
  const wanted = new Map<string, [run: number, seq: number]>()
  for (const record of records) {
    if (record.refs === null) continue
    const { id } = runOf(record)
    for (const ref of parseRefs(record.refs)) if (isBackRef(ref)) wanted.set(eventRowKey(id, ref[1]), [id, ref[1]])
  }
  return wanted
}

function eventRowKey(run: number, seq: number): string {
  return `${run} ${seq}`
}
