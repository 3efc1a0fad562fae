import { isEvent } from '../../kernel/event.ts'
import type { ArtifactRow } from '../store.ts'
import type { EventTable, RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/** Pieces of work: a row points at the event that carries the content. */
export function artifactTable(db: Database, events: EventTable) {
  const upsert = db.prepare(
    `INSERT INTO artifacts (run, name, version, event) VALUES (?, ?, ?, ?)
     ON CONFLICT (run, name, version) DO UPDATE SET event = excluded.event`,
  )
  const newest = db.prepare('SELECT event FROM artifacts WHERE run = ? AND name = ? ORDER BY version DESC LIMIT 1')
  const exact = db.prepare('SELECT event FROM artifacts WHERE run = ? AND name = ? AND version = ?')
  const listed = db.prepare('SELECT event FROM artifacts WHERE run = ? ORDER BY event')

  function rowAt(run: RunKey, id: unknown, without?: string): ArtifactRow | undefined {
    const event = events.at(Number(id), without)
    return isEvent(event, 'artifact:write')
      ? { ...event.data, project: run.project, run_id: run.run_id, at: event.at }
      : undefined
  }

  return {
    put(run: RunKey, name: string, version: number, event: number): void {
      upsert.run(run.id, name, version, event)
    },
    row(run: RunKey, name: string, version: number | undefined): ArtifactRow | undefined {
      const found = version === undefined ? newest.get(run.id, name) : exact.get(run.id, name, version)
      return found && rowAt(run, found.event)
    },
    list(run: RunKey): Omit<ArtifactRow, 'content'>[] {
      return listed.all(run.id).flatMap(({ event }) => {
        const row = rowAt(run, event, 'content')
        if (!row) return []
        const { content: _content, ...rest } = row
        return [rest]
      })
    },
  }
}

export type ArtifactTable = ReturnType<typeof artifactTable>
