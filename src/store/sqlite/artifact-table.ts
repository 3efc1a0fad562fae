import { isEvent } from '../../kernel/event.ts'
import type { ArtifactRow } from '../store.ts'
import type { EventTable, RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

function statements(db: Database) {
  return {
    upsert: db.prepare(
      `INSERT INTO artifacts (run, name, version, event) VALUES (?, ?, ?, ?)
       ON CONFLICT (run, name, version) DO UPDATE SET event = excluded.event`,
    ),
    newest: db.prepare('SELECT event FROM artifacts WHERE run = ? AND name = ? ORDER BY version DESC LIMIT 1'),
    exact: db.prepare('SELECT event FROM artifacts WHERE run = ? AND name = ? AND version = ?'),
    byRun: db.prepare('SELECT event FROM artifacts WHERE run = ? ORDER BY event'),
  }
}

/** Artifacts. A row points at the event that carries the content. */
export class ArtifactTable {
  readonly #sql
  readonly #events: EventTable

  constructor(db: Database, events: EventTable) {
    this.#sql = statements(db)
    this.#events = events
  }

  put(run: RunKey, { name, version }: { name: string; version: number }, event: number): void {
    this.#sql.upsert.run(run.id, name, version, event)
  }

  row(run: RunKey, name: string, version: number | undefined): ArtifactRow | undefined {
    const found =
      version === undefined ? this.#sql.newest.get(run.id, name) : this.#sql.exact.get(run.id, name, version)
    return found && this.#toRow(run, found.event)
  }

  list(run: RunKey): Omit<ArtifactRow, 'content'>[] {
    return this.#sql.byRun.all(run.id).flatMap(({ event }) => {
      const row = this.#toRow(run, event, 'content')
      if (!row) return []
      const { content: _content, ...rest } = row
      return [rest]
    })
  }

  #toRow(run: RunKey, id: unknown, omittedField?: string): ArtifactRow | undefined {
    const event = this.#events.byId(Number(id), omittedField)
    return isEvent(event, 'artifact:write')
      ? { ...event.data, project: run.project, run_id: run.run_id, at: event.at }
      : undefined
  }
}
