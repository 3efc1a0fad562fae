import type { EventType } from '../../kernel/event.ts'
import { wordsOfEvent } from '../search-words.ts'
import type { StoreProblem } from '../store.ts'
import type { Database } from './node-sqlite.ts'
import type { Tables } from './tables.ts'
import { wordsOfRow } from './word-table.ts'

const EVENTS_WITH_WORDS: readonly EventType[] = ['run:start', 'session:open', 'session:end']

/** Runs that a search misses, or finds by words that they do not have. Runs of older stores, without hashes, have no words. */
export function* checkWords(db: Database, tables: Tables, run_id: string | undefined): Iterable<StoreProblem> {
  const stored = db.prepare('SELECT words FROM run_words WHERE run = ?')
  const runs = db.prepare(
    `SELECT runs.id, run_id FROM runs JOIN events ON events.run = runs.id AND seq = 1
     WHERE hash IS NOT NULL AND run_id = ifnull(?, run_id) ORDER BY runs.id`,
  )
  for (const run of runs.all(run_id ?? null)) {
    const id = String(run.run_id)
    const expected = new Set(tables.events.ofRuns([id], EVENTS_WITH_WORDS).flatMap(wordsOfEvent))
    const found = new Set(stored.all(Number(run.id)).flatMap(({ words }) => wordsOfRow(words)))
    const missing = [...expected].filter((word) => !found.has(word)).length
    const foreign = [...found].filter((word) => !expected.has(word)).length
    if (missing + foreign > 0)
      yield {
        rule: 'words',
        run_id: id,
        message: `run ${id}: of the words by which it is found, ${missing} are missing and ${foreign} are not in its journal`,
      }
  }
}
