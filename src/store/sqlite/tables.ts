import { artifactTable } from './artifact-table.ts'
import { BackReferences } from './back-references.ts'
import { blobTable } from './blob-table.ts'
import { commandTable } from './command-table.ts'
import { eventTable } from './event-table.ts'
import { gateTable } from './gate-table.ts'
import type { Database } from './node-sqlite.ts'
import { runTable } from './run-table.ts'
import { segmentTable } from './segment-table.ts'
import { sessionTable } from './session-table.ts'
import { StringDictionary } from './string-dictionary.ts'
import { TemplateCache } from './template-cache.ts'

/** Every aggregate of the store, its statements prepared once. */
export function openTables(db: Database) {
  const dictionary = new StringDictionary(db, { table: 'words', column: 'word' })
  const sessionIds = new StringDictionary(db, { table: 'sessions', column: 'session_id' })
  const events = eventTable(db, { dictionary, sessionIds, blobs: blobTable(db) })
  return {
    templates: new TemplateCache(),
    backReferences: new BackReferences(),
    events,
    runs: runTable(db),
    sessions: sessionTable(db, sessionIds, events),
    segments: segmentTable(db, events),
    gates: gateTable(db, events),
    commands: commandTable(db),
    artifacts: artifactTable(db, events),
  }
}

export type Tables = ReturnType<typeof openTables>
