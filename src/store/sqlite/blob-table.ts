import { hash } from 'node:crypto'
import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. A blob is identified by its project and the hash of its content (content addressing). Its id never changes.
 * 2. Ids of snapshots are cached. Ids from a transaction that was rolled back are dropped from the cache.
 */

const MAX_CACHED_SNAPSHOTS = 1000

function statements(db: Database) {
  return {
    insert: db.prepare(
      'INSERT INTO blobs (project, hash, size, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (project, hash) DO NOTHING',
    ),
    findId: db.prepare('SELECT id FROM blobs WHERE project = ? AND hash = ?'),
    byHash: db.prepare('SELECT bytes FROM blobs WHERE project = ? AND hash = ?'),
    byId: db.prepare('SELECT bytes FROM blobs WHERE id = ?'),
  }
}

/** Large or repeated values of events, stored once per project and content. */
export class BlobTable {
  readonly #sql
  readonly #snapshotIds = new Map<string, number>()
  #uncommitted: string[] = []

  constructor(db: Database) {
    this.#sql = statements(db)
  }

  put(project: string, digest: string, bytes: Uint8Array): void {
    this.#sql.insert.run(project, digest, bytes.length, bytes)
  }

  /** The id of a snapshot, inserted if it is new. Only inside a transaction. */
  snapshot(project: string, json: string): number {
    const cacheKey = `${project}\n${json}`
    const known = this.#snapshotIds.get(cacheKey)
    if (known !== undefined) return known
    const bytes = Buffer.from(json)
    const digest = hash('sha256', bytes, 'hex')
    this.put(project, digest, bytes)
    const id = Number(this.#sql.findId.get(project, digest)?.id)
    if (this.#snapshotIds.size >= MAX_CACHED_SNAPSHOTS) this.#snapshotIds.clear()
    this.#snapshotIds.set(cacheKey, id)
    this.#uncommitted.push(cacheKey)
    return id
  }

  /** Loads a blob by the hash of a payload or the id of a snapshot. */
  load(project: string, ref: string | number): Uint8Array | undefined {
    const row = typeof ref === 'number' ? this.#sql.byId.get(ref) : this.#sql.byHash.get(project, ref)
    return row?.bytes instanceof Uint8Array ? row.bytes : undefined
  }

  commit(): void {
    if (this.#uncommitted.length > 0) this.#uncommitted = []
  }

  rollback(): void {
    for (const cacheKey of this.#uncommitted) this.#snapshotIds.delete(cacheKey)
    this.#uncommitted = []
  }
}
