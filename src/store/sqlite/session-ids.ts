import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. The row id of a session id never changes and is never used for another one, in any process. The cache is dropped when another
 *    connection has committed, which may have deleted rows.
 * 2. Row ids from a transaction that was rolled back are dropped; otherwise events would have dangling ids.
 */

const MAX_CACHED_IDS = 50_000

/** Row ids of session ids: events store the number instead of the long string. */
export class SessionIds {
  readonly #ids = new Map<string, number>()
  readonly #selectId
  readonly #insert
  #uncommitted: string[] = []

  constructor(db: Database) {
    this.#selectId = db.prepare('SELECT id FROM sessions WHERE session_id = ?')
    this.#insert = db.prepare('INSERT INTO sessions (session_id) VALUES (?) ON CONFLICT DO NOTHING')
  }

  /** The row id of a session id, inserted if it is new. Only inside a transaction. */
  intern(session_id: string): number {
    const known = this.#ids.get(session_id)
    if (known !== undefined) return known
    const { changes, lastInsertRowid } = this.#insert.run(session_id)
    if (changes === 0) return this.find(session_id) ?? 0
    const id = Number(lastInsertRowid)
    this.#uncommitted.push(session_id)
    this.#cache(session_id, id)
    return id
  }

  find(session_id: string): number | undefined {
    const known = this.#ids.get(session_id)
    if (known !== undefined) return known
    const row = this.#selectId.get(session_id)
    if (row) this.#cache(session_id, Number(row.id))
    return row && Number(row.id)
  }

  commit(): void {
    if (this.#uncommitted.length > 0) this.#uncommitted = []
  }

  forget(): void {
    this.#ids.clear()
  }

  rollback(): void {
    for (const session_id of this.#uncommitted) this.#ids.delete(session_id)
    this.#uncommitted = []
  }

  #cache(session_id: string, id: number): void {
    if (this.#ids.size >= MAX_CACHED_IDS) this.#ids.clear()
    this.#ids.set(session_id, id)
  }
}
