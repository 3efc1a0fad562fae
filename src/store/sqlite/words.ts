import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. A word's number never changes, in any process: what is remembered here can only be incomplete, never wrong.
 * 2. Numbers given in a transaction that was rolled back are forgotten (`forget`), or events would point at nothing.
 */

const MOST_REMEMBERED = 50_000

/** Where words stand: event types with their shapes, or session ids. */
export interface WordColumn {
  table: 'words' | 'sessions'
  column: 'word' | 'session_id'
}

/** Texts that many rows refer to by number, each stored once. */
export class Words {
  readonly #numbers = new Map<string, number>()
  readonly #words = new Map<number, string>()
  readonly #byWord
  readonly #byNumber
  readonly #insert
  #fresh: string[] = []

  constructor(db: Database, { table, column }: WordColumn) {
    this.#byWord = db.prepare(`SELECT id FROM ${table} WHERE ${column} = ?`)
    this.#byNumber = db.prepare(`SELECT ${column} AS word FROM ${table} WHERE id = ?`)
    this.#insert = db.prepare(`INSERT INTO ${table} (${column}) VALUES (?)`)
  }

  /** The number of a word, given one now if it has none. Only inside a transaction. */
  number(word: string): number {
    const known = this.#numbers.get(word) ?? this.find(word)
    if (known !== undefined) return known
    const number = Number(this.#insert.run(word).lastInsertRowid)
    this.#fresh.push(word)
    this.#remember(word, number)
    return number
  }

  /** The number of a word that has one. */
  find(word: string): number | undefined {
    const known = this.#numbers.get(word)
    if (known !== undefined) return known
    const row = this.#byWord.get(word)
    if (row) this.#remember(word, Number(row.id))
    return row && Number(row.id)
  }

  word(number: number): string {
    const known = this.#words.get(number)
    if (known !== undefined) return known
    const row = this.#byNumber.get(number)
    if (!row) return `unknown:${number}`
    this.#remember(String(row.word), number)
    return String(row.word)
  }

  /** The transaction is in the file: its new words may be kept. */
  keep(): void {
    if (this.#fresh.length > 0) this.#fresh = []
  }

  /** The transaction is undone: so are its new words. */
  forget(): void {
    for (const word of this.#fresh) {
      const number = this.#numbers.get(word)
      this.#numbers.delete(word)
      if (number !== undefined) this.#words.delete(number)
    }
    this.#fresh = []
  }

  #remember(word: string, number: number): void {
    if (this.#numbers.size >= MOST_REMEMBERED) {
      this.#numbers.clear()
      this.#words.clear()
    }
    this.#numbers.set(word, number)
    this.#words.set(number, word)
  }
}
