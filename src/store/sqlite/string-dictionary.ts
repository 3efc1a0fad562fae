import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. A word's number never changes, in any process: what is remembered here can only be incomplete, never wrong.
 * 2. Numbers given in a transaction that was rolled back are forgotten (`forget`), or events would point at nothing.
 */

const MAX_CACHED_STRINGS = 50_000

/** Where words stand: event types with their shapes, or session ids. */
export interface DictionaryColumn {
  table: 'words' | 'sessions'
  column: 'word' | 'session_id'
}

/** Texts that many rows refer to by number, each stored once. */
export class StringDictionary {
  readonly #ids = new Map<string, number>()
  readonly #strings = new Map<number, string>()
  readonly #selectId
  readonly #selectString
  readonly #insert
  #uncommitted: string[] = []

  constructor(db: Database, { table, column }: DictionaryColumn) {
    this.#selectId = db.prepare(`SELECT id FROM ${table} WHERE ${column} = ?`)
    this.#selectString = db.prepare(`SELECT ${column} AS word FROM ${table} WHERE id = ?`)
    this.#insert = db.prepare(`INSERT INTO ${table} (${column}) VALUES (?)`)
  }

  /** The number of a word, given one now if it has none. Only inside a transaction. */
  intern(word: string): number {
    const known = this.#ids.get(word) ?? this.findId(word)
    if (known !== undefined) return known
    const number = Number(this.#insert.run(word).lastInsertRowid)
    this.#uncommitted.push(word)
    this.#cache(word, number)
    return number
  }

  /** The number of a word that has one. */
  findId(word: string): number | undefined {
    const known = this.#ids.get(word)
    if (known !== undefined) return known
    const row = this.#selectId.get(word)
    if (row) this.#cache(word, Number(row.id))
    return row && Number(row.id)
  }

  stringFor(number: number): string {
    const known = this.#strings.get(number)
    if (known !== undefined) return known
    const row = this.#selectString.get(number)
    if (!row) return `unknown:${number}`
    this.#cache(String(row.word), number)
    return String(row.word)
  }

  /** The transaction is in the file: its new words may be kept. */
  commit(): void {
    if (this.#uncommitted.length > 0) this.#uncommitted = []
  }

  /** The transaction is undone: so are its new words. */
  rollback(): void {
    for (const word of this.#uncommitted) {
      const number = this.#ids.get(word)
      this.#ids.delete(word)
      if (number !== undefined) this.#strings.delete(number)
    }
    this.#uncommitted = []
  }

  #cache(word: string, number: number): void {
    if (this.#ids.size >= MAX_CACHED_STRINGS) {
      this.#ids.clear()
      this.#strings.clear()
    }
    this.#ids.set(word, number)
    this.#strings.set(number, word)
  }
}
