import { artifactTable } from './artifacts.ts'
import { blobTable } from './blobs.ts'
import { commandTable } from './commands.ts'
import { eventTable } from './events.ts'
import { gateTable } from './gates.ts'
import type { Database } from './node-sqlite.ts'
import { runTable } from './runs.ts'
import { segmentTable } from './segments.ts'
import { sessionTable } from './sessions.ts'
import { RecentShapes } from './shapes.ts'
import { Texts } from './texts.ts'
import { Words } from './words.ts'

/** Every aggregate of the store, its statements prepared once. */
export function openTables(db: Database) {
  const words = new Words(db, { table: 'words', column: 'word' })
  const ids = new Words(db, { table: 'sessions', column: 'session_id' })
  const events = eventTable(db, { words, ids, blobs: blobTable(db) })
  return {
    shapes: new RecentShapes(),
    texts: new Texts(),
    events,
    runs: runTable(db),
    sessions: sessionTable(db, ids, events),
    segments: segmentTable(db, events),
    gates: gateTable(db, events),
    commands: commandTable(db),
    artifacts: artifactTable(db, events),
  }
}

export type Tables = ReturnType<typeof openTables>
