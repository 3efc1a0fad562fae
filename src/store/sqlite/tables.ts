import { ArtifactTable } from './artifact-table.ts'
import { BlobTable } from './blob-table.ts'
import { BucketTable } from './bucket-table.ts'
import { CommandTable } from './command-table.ts'
import { EventTable } from './event-table.ts'
import { GateTable } from './gate-table.ts'
import type { Database } from './node-sqlite.ts'
import { PatternTables } from './pattern-tables.ts'
import { RunTable } from './run-table.ts'
import { SegmentTable } from './segment-table.ts'
import { SessionIds } from './session-ids.ts'
import { SessionTable } from './session-table.ts'
import { VectorTable } from './vector-table.ts'
import { WordTable } from './word-table.ts'

/** The tables of a store with their prepared statements. */
export function openTables(db: Database, now: () => number) {
  const sessionIds = new SessionIds(db)
  const blobs = new BlobTable(db)
  const events = new EventTable(db, sessionIds, blobs)
  return {
    events,
    runs: new RunTable(db, now),
    sessions: new SessionTable(db, sessionIds, events),
    segments: new SegmentTable(db, events),
    gates: new GateTable(db, events),
    commands: new CommandTable(db, blobs),
    artifacts: new ArtifactTable(db, events),
    buckets: new BucketTable(db, now),
    vectors: new VectorTable(db),
    patterns: new PatternTables(db, events),
    words: new WordTable(db),
  }
}

export type Tables = ReturnType<typeof openTables>
