import type { RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/** The words by which runs are found. */
export class WordTable {
  readonly #add

  constructor(db: Database) {
    this.#add = db.prepare('INSERT OR IGNORE INTO run_words (run, word) SELECT ?, value FROM json_each(?)')
  }

  add({ id }: Pick<RunKey, 'id'>, words: readonly string[]): void {
    if (words.length > 0) this.#add.run(id, JSON.stringify(words))
  }
}
