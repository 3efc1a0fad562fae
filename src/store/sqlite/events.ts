import type { Event } from '../../kernel/event.ts'
import type { EventRange } from '../store.ts'
import type { BlobTable } from './blobs.ts'
import type { Encoded, Refs } from './encoding.ts'
import { decode, refsOf } from './encoding.ts'
import type { Database } from './node-sqlite.ts'
import type { Words } from './words.ts'

/** A run as events refer to it. */
export interface RunKey {
  id: number
  run_id: string
  project: string
}

interface EventRecord {
  seq: number
  at: number
  type: number
  session: number | null
  data: string
  refs: string | null
}

const COLUMNS = 'seq, at, type, session, data, refs'

/** The journal: rows in the order they were committed. */
export function eventTable(db: Database, words: Words, blobs: BlobTable) {
  const insert = db.prepare(`INSERT INTO events (run, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`)
  const byId = db.prepare(`SELECT ${COLUMNS} FROM events WHERE id = ?`)
  const range = db.prepare(`SELECT ${COLUMNS} FROM events WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`)
  const rangeOfSession = db.prepare(
    `SELECT ${COLUMNS} FROM events WHERE run = ? AND seq > ? AND seq <= ? AND session = ? ORDER BY seq LIMIT ?`,
  )

  function toEvents(run: RunKey, rows: unknown[], without?: string): Event[] {
    const records = rows as EventRecord[]
    const found = blobs.load(run.project, hashesOf(records, without))
    return records.map((record) => {
      const { seq, at, type, session } = record
      return {
        run_id: run.run_id,
        seq,
        at,
        type: words.word(type),
        ...(session === null ? undefined : { session_id: words.word(session) }),
        data: decode(record.data, record.refs, (hash) => found.get(hash)),
      } as Event
    })
  }

  return {
    /** Returns the row's number, by which gates, artifacts and sessions refer to the event. */
    insert(run: RunKey, event: Event, { data, payloads }: Encoded): number {
      for (const payload of payloads) blobs.put(run.project, payload)
      const session = event.session_id === undefined ? null : words.number(event.session_id)
      const type = words.number(event.type)
      return Number(insert.run(run.id, event.seq, event.at, type, session, data, refsOf(payloads)).lastInsertRowid)
    },
    /** `without` names a field whose blob is not wanted. */
    at(run: RunKey, id: number, without?: string): Event | undefined {
      return toEvents(run, byId.all(id), without)[0]
    },
    range(run: RunKey, { after = 0, to, limit, session_id }: EventRange): Event[] {
      const [last, most] = [to ?? Number.MAX_SAFE_INTEGER, limit ?? -1]
      if (session_id === undefined) return toEvents(run, range.all(run.id, after, last, most))
      const session = words.find(session_id)
      return session === undefined ? [] : toEvents(run, rangeOfSession.all(run.id, after, last, session, most))
    },
  }
}

export type EventTable = ReturnType<typeof eventTable>

function hashesOf(records: readonly EventRecord[], without: string | undefined): string[] {
  const hashes = new Set<string>()
  for (const { refs } of records) {
    if (refs === null) continue
    for (const [field, [hash]] of Object.entries(JSON.parse(refs) as Refs)) if (field !== without) hashes.add(hash)
  }
  return [...hashes]
}
