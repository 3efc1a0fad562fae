import { ArtifactTable } from './artifact-table.ts'
import { BackReferences } from './back-references.ts'
import { BlobTable } from './blob-table.ts'
import { CommandTable } from './command-table.ts'
import { EventTable } from './event-table.ts'
import { GateTable } from './gate-table.ts'
import type { Database } from './node-sqlite.ts'
import { RunTable } from './run-table.ts'
import { SegmentTable } from './segment-table.ts'
import { SessionTable } from './session-table.ts'
import { StringDictionary } from './string-dictionary.ts'
import { TemplateCache } from './template-cache.ts'

/** The tables of a store with their prepared statements, and the caches of the encoder. */
export function openTables(db: Database, now: () => number) {
  const dictionary = new StringDictionary(db, { table: 'words', column: 'word' })
  const sessionIds = new StringDictionary(db, { table: 'sessions', column: 'session_id' })
  const events = new EventTable(db, { dictionary, sessionIds, blobs: new BlobTable(db) })
  return {
    templates: new TemplateCache(),
    backReferences: new BackReferences(),
    events,
    runs: new RunTable(db, now),
    sessions: new SessionTable(db, sessionIds, events),
    segments: new SegmentTable(db, events),
    gates: new GateTable(db, events),
    commands: new CommandTable(db),
    artifacts: new ArtifactTable(db, events),
  }
}

export type Tables = ReturnType<typeof openTables>
