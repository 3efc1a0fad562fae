import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. The id of a string never changes, in any process: the cache can be incomplete, never wrong.
 * 2. Ids assigned in a transaction that was rolled back are dropped (`rollback`); otherwise events would have dangling ids.
 */

const MAX_CACHED_STRINGS = 50_000

/** The table of the dictionary: `words` for event descriptors (type and template), `sessions` for session ids. */
export interface DictionaryColumn {
  table: 'words' | 'sessions'
  column: 'word' | 'session_id'
}

/** A string dictionary (string interning): rows store a numeric id instead of a repeated string. */
export class StringDictionary {
  readonly #ids = new Map<string, number>()
  readonly #strings = new Map<number, string>()
  readonly #selectId
  readonly #selectString
  readonly #insert
  #uncommitted: string[] = []

  constructor(db: Database, { table, column }: DictionaryColumn) {
    this.#selectId = db.prepare(`SELECT id FROM ${table} WHERE ${column} = ?`)
    this.#selectString = db.prepare(`SELECT ${column} AS string FROM ${table} WHERE id = ?`)
    this.#insert = db.prepare(`INSERT INTO ${table} (${column}) VALUES (?)`)
  }

  /** The id of a string, assigned if it has none. Only inside a transaction. */
  intern(string: string): number {
    const known = this.findId(string)
    if (known !== undefined) return known
    const id = Number(this.#insert.run(string).lastInsertRowid)
    this.#uncommitted.push(string)
    this.#cache(string, id)
    return id
  }

  findId(string: string): number | undefined {
    const known = this.#ids.get(string)
    if (known !== undefined) return known
    const row = this.#selectId.get(string)
    if (row) this.#cache(string, Number(row.id))
    return row && Number(row.id)
  }

  stringFor(id: number): string {
    const known = this.#strings.get(id)
    if (known !== undefined) return known
    const row = this.#selectString.get(id)
    if (!row) return `unknown:${id}`
    this.#cache(String(row.string), id)
    return String(row.string)
  }

  commit(): void {
    if (this.#uncommitted.length > 0) this.#uncommitted = []
  }

  rollback(): void {
    for (const string of this.#uncommitted) {
      const id = this.#ids.get(string)
      this.#ids.delete(string)
      if (id !== undefined) this.#strings.delete(id)
    }
    this.#uncommitted = []
  }

  #cache(string: string, id: number): void {
    if (this.#ids.size >= MAX_CACHED_STRINGS) {
      this.#ids.clear()
      this.#strings.clear()
    }
    this.#ids.set(string, id)
    this.#strings.set(id, string)
  }
}
