import type { RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/** The words by which runs are found: a row for each append that adds some. */
export class WordTable {
  readonly #add

  constructor(db: Database) {
    // Only a damaged store has a row with this `seq`: no append may fail for the words of a search.
    this.#add = db.prepare(
      'INSERT INTO run_words (run, seq, words) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET words = excluded.words',
    )
  }

  /** Adds the words of events that are appended from `seq` on. */
  add({ id }: Pick<RunKey, 'id'>, seq: number, words: readonly string[]): void {
    if (words.length > 0) this.#add.run(id, seq, ` ${words.join(' ')}`)
  }
}

/** The words of a row. */
export function wordsOfRow(words: unknown): string[] {
  return String(words).slice(1).split(' ')
}
