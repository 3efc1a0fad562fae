import type { Command, CommandBody } from '../store.ts'
import type { BlobTable } from './blob-table.ts'
import type { EncodedData } from './event-data.ts'
import { decodeData } from './event-data.ts'
import type { RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

function statements(db: Database) {
  return {
    insert: db.prepare('INSERT INTO commands (run, at, gate_id, body) VALUES (?, ?, ?, ?)'),
    byRun: db.prepare('SELECT id, at, body FROM commands WHERE run = ? AND id > ? ORDER BY id'),
    all: db.prepare(
      `SELECT commands.id, run_id, project, at, body FROM commands JOIN runs ON runs.id = commands.run
       WHERE commands.id > ? ORDER BY commands.id`,
    ),
    newest: db.prepare('SELECT coalesce(max(id), 0) AS id FROM commands WHERE run = ?'),
    newestOfAll: db.prepare('SELECT coalesce(max(id), 0) AS id FROM commands'),
    answerTo: db.prepare('SELECT body FROM commands WHERE gate_id = ?'),
  }
}

/** Commands to the owners of runs. A unique index on `gate_id` lets the first answer win, across processes. */
export class CommandTable {
  readonly #sql
  readonly #blobs: BlobTable

  constructor(db: Database, blobs: BlobTable) {
    this.#sql = statements(db)
    this.#blobs = blobs
  }

  insert(run: RunKey, { body, encoded, at }: { body: CommandBody; encoded: EncodedData; at: number }): Command {
    for (const blob of encoded.blobs) this.#blobs.putUncached(run.project, blob)
    const gate_id = body.kind === 'answer' ? body.gate_id : null
    const inserted = this.#sql.insert.run(run.id, at, gate_id, encoded.data)
    return { id: Number(inserted.lastInsertRowid), run_id: run.run_id, at, body }
  }

  /** Commands of a run with a greater id. */
  list({ id, run_id, project }: RunKey, after: number): Command[] {
    return this.#sql.byRun.all(id, after).map((row) => this.#decode({ ...row, run_id, project }))
  }

  listAll(after: number): Command[] {
    return this.#sql.all.all(after).map((row) => this.#decode(row))
  }

  newest({ id }: RunKey): number {
    return Number(this.#sql.newest.get(id)?.id ?? 0)
  }

  newestOfAll(): number {
    return Number(this.#sql.newestOfAll.get()?.id ?? 0)
  }

  answeredBy(gate_id: string): string | undefined {
    const row = this.#sql.answerTo.get(gate_id)
    return row && (JSON.parse(String(row.body)) as CommandBody).by
  }

  #decode({ id, run_id, project, at, body }: Record<string, unknown>): Command {
    const decoded = decodeData(String(body), (marker) => this.#blobs.load(String(project), marker))
    return { id: Number(id), run_id: String(run_id), at: Number(at), body: decoded as CommandBody }
  }
}
