import { parseJson } from '../../schema/json-value.ts'
import type { Blob, BlobMarker, MissingValue } from './event-data.ts'
import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. A blob is identified by its project and the hash of its content (content addressing), and never changes. One with another content than its
 *    hash names, damaged or planted, is repaired when the value is stored again.
 * 2. The cache holds blobs of committed transactions only. It is dropped when another connection has committed, which may have
 *    deleted blobs: an event never refers to a blob that does not exist.
 */

const MAX_CACHED_HASHES = 10_000

function statements(db: Database) {
  return {
    // Prevents a planted blob: one with this hash and another content would be read in place of the value.
    insert: db.prepare(
      `INSERT INTO blobs (project, hash, content) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET content = excluded.content WHERE content IS NOT excluded.content`,
    ),
    content: db.prepare('SELECT content FROM blobs WHERE project = ? AND hash = ?'),
  }
}

/** Large or repeated values of events, stored once per project and content. */
export class BlobTable {
  readonly #sql
  readonly #stored = new Set<string>()
  #uncommitted: string[] = []

  constructor(db: Database) {
    this.#sql = statements(db)
  }

  put(project: string, { hash, content }: Blob): void {
    const cacheKey = `${hash}${project}`
    if (this.#stored.has(cacheKey)) return
    this.#sql.insert.run(project, hash, content)
    this.#uncommitted.push(cacheKey)
  }

  /** Stores a blob outside an append: its transaction does not tell the cache how it ended. */
  putUncached(project: string, { hash, content }: Blob): void {
    this.#sql.insert.run(project, hash, content)
  }

  /** The JSON of a value; `undefined` if it is missing. */
  content(project: string, { $blob }: BlobMarker): string | undefined {
    const content = this.#sql.content.get(project, $blob)?.content
    return typeof content === 'string' ? content : undefined
  }

  load(project: string, marker: BlobMarker): unknown {
    const missing: MissingValue = { $missing: marker.$blob, size: marker.size }
    const value = parseJson(this.content(project, marker) ?? '')
    return value === undefined ? missing : value
  }

  commit(): void {
    if (this.#uncommitted.length === 0) return
    if (this.#stored.size >= MAX_CACHED_HASHES) this.#stored.clear()
    for (const cacheKey of this.#uncommitted) this.#stored.add(cacheKey)
    this.#uncommitted = []
  }

  forget(): void {
    this.#stored.clear()
  }

  rollback(): void {
    this.#uncommitted = []
  }
}
