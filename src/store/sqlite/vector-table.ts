import type { VectorCollection, VectorRow } from '../store.ts'
import type { Database } from './node-sqlite.ts'

function statements(db: Database) {
  return {
    put: db.prepare(
      `INSERT INTO vectors (project, collection, id, vector, data) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (project, collection, id) DO UPDATE SET vector = excluded.vector, data = excluded.data`,
    ),
    get: db.prepare('SELECT id, vector, data FROM vectors WHERE project = ? AND collection = ? AND id = ?'),
    list: db.prepare('SELECT id, vector, data FROM vectors WHERE project = ? AND collection = ? ORDER BY id'),
    remove: db.prepare('DELETE FROM vectors WHERE project = ? AND collection = ? AND id = ?'),
    clear: db.prepare('DELETE FROM vectors WHERE project = ? AND collection = ?'),
  }
}

/** Vectors as blobs of 32-bit floats. */
export class VectorTable {
  readonly #sql

  constructor(db: Database) {
    this.#sql = statements(db)
  }

  /** In one transaction with the removal: a reader sees all of it or nothing. */
  change(scope: VectorCollection, { rows, removed }: { rows: readonly VectorRow[]; removed: readonly string[] }): void {
    for (const id of removed) this.#sql.remove.run(scope.project, scope.collection, id)
    this.#put(scope, rows)
  }

  #put({ project, collection }: VectorCollection, rows: readonly VectorRow[]): void {
    for (const { id, vector, data } of rows) {
      const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
      this.#sql.put.run(project, collection, id, bytes, JSON.stringify(data ?? null))
    }
  }

  list({ project, collection }: VectorCollection, ids?: readonly string[]): VectorRow[] {
    const rows = ids
      ? [...ids].sort().flatMap((id) => this.#sql.get.all(project, collection, id))
      : this.#sql.list.all(project, collection)
    return rows.map(({ id, vector, data }) => ({
      id: String(id),
      // A copy: the bytes of a row need not start at a multiple of four.
      vector: new Float32Array(Uint8Array.from(vector as Uint8Array).buffer),
      data: JSON.parse(String(data)),
    }))
  }

  remove({ project, collection }: VectorCollection, ids: readonly string[] | undefined): void {
    if (!ids) this.#sql.clear.run(project, collection)
    for (const id of ids ?? []) this.#sql.remove.run(project, collection, id)
  }
}
