import { artifactTable } from './artifacts.ts'
import { blobTable } from './blobs.ts'
import { commandTable } from './commands.ts'
import { eventTable } from './events.ts'
import { gateTable } from './gates.ts'
import type { Database } from './node-sqlite.ts'
import { runTable } from './runs.ts'
import { sessionTable } from './sessions.ts'
import { Words } from './words.ts'

/** Every aggregate of the store, its statements prepared once. */
export function openTables(db: Database) {
  const words = new Words(db)
  const blobs = blobTable(db)
  const events = eventTable(db, words, blobs)
  return {
    words,
    blobs,
    events,
    runs: runTable(db),
    sessions: sessionTable(db, words, events),
    gates: gateTable(db, events),
    commands: commandTable(db),
    artifacts: artifactTable(db, events),
  }
}

export type Tables = ReturnType<typeof openTables>
