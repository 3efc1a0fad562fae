import type { EventType } from '../../kernel/event.ts'
import { wordsOfEvent } from '../search-words.ts'
import type { StoreProblem } from '../store.ts'
import type { SqliteConnection } from './connection.ts'
import { checkJournals } from './journal-check.ts'
import type { Database } from './node-sqlite.ts'
import { toStoreError } from './sqlite-errors.ts'
import type { Tables } from './tables.ts'
import { wordsOfRow } from './word-table.ts'

const MAX_PROBLEMS = 100
const EVENTS_WITH_WORDS: readonly EventType[] = ['run:start', 'session:open', 'session:end']

/** The store to check; with `run_id`, only this run. */
export interface IntegrityScope {
  connection: SqliteConnection
  tables: Tables
  run_id: string | undefined
}

/** Reads the whole file: its structure, every journal with its hash chain, every blob, and what is derived from the journals. */
export function checkIntegrity(scope: IntegrityScope): StoreProblem[] {
  const { db, path } = scope.connection
  const journals = [() => checkJournals(db, scope.run_id), () => wordProblems(db, scope.tables, scope.run_id)]
  const whole = [() => structureProblems(db, path), ...journals, () => orphanProblems(db), () => projectionProblems(db)]
  const checks = scope.run_id === undefined ? whole : journals
  return [...lostCommits(scope.connection), ...checks.flatMap((check) => runCheck(check, path))].slice(0, MAX_PROBLEMS)
}

function lostCommits({ loss }: SqliteConnection): StoreProblem[] {
  return loss ? [{ rule: 'log', message: loss.message }] : []
}

/** Damage that aborts one check must not hide the findings of the others. */
function runCheck(check: () => Iterable<StoreProblem>, path: string): StoreProblem[] {
  const found: StoreProblem[] = []
  try {
    for (const problem of check()) found.push(problem)
  } catch (thrown) {
    found.push({ rule: 'structure', message: toStoreError(thrown, path).message })
  }
  return found
}

function* structureProblems(db: Database, path: string): Iterable<StoreProblem> {
  for (const row of db.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).iterate()) {
    if (row.integrity_check !== 'ok') yield { rule: 'structure', message: `${path}: ${String(row.integrity_check)}` }
  }
}

/** Runs that a search misses, or finds by words that they do not have. Runs of older stores, without hashes, have no words. */
function* wordProblems(db: Database, tables: Tables, run_id: string | undefined): Iterable<StoreProblem> {
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

/** Rows of runs that do not exist. A deletion leaves the newest command and session without content (`run-deletion.ts`). */
function* orphanProblems(db: Database): Iterable<StoreProblem> {
  for (const table of ['events', 'gates', 'artifacts', 'commands', 'segments', 'sessions', 'run_words']) {
    const { rows } = db
      .prepare(
        `SELECT count(*) AS rows FROM ${table} WHERE run IS NOT NULL AND run != -1 AND run NOT IN (SELECT id FROM runs)`,
      )
      .get() ?? { rows: 0 }
    if (rows !== 0)
      yield { rule: 'row', message: `the table '${table}' has ${String(rows)} rows of runs that do not exist` }
  }
}

/** Rows that a pattern could not compute. Tables that are only behind are computed again when they are read. */
function* projectionProblems(db: Database): Iterable<StoreProblem> {
  for (const { pattern, problem } of db.prepare('SELECT pattern, problem FROM projections').iterate())
    if (problem !== null)
      yield { rule: 'table', message: `the tables of the pattern '${String(pattern)}' lack ${String(problem)}` }
}
