import { isEvent } from '../../kernel/event.ts'
import type { ArtifactPage, ArtifactRow } from '../store.ts'
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
    page: db.prepare('SELECT event FROM artifacts WHERE run = ? AND event > ? ORDER BY event LIMIT ?'),
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

  /** One page, oldest first; only the events of that page are read. */
  list(run: RunKey, { after, limit = -1 }: ArtifactPage): Omit<ArtifactRow, 'content'>[] {
    const last = after && this.#sql.exact.get(run.id, after.name, after.version)?.event
    return this.#sql.page.all(run.id, last ?? 0, limit).flatMap(({ event }) => {
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
