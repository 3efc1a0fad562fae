import type { EventType } from '../../kernel/event.ts'
import { parseJson } from '../../schema/json-value.ts'
import { wordsOfEvent } from '../search-words.ts'
import type { StoreProblem } from '../store.ts'
import type { SqliteConnection } from './connection.ts'
import type { ChainedRecord } from './event-chain.ts'
import { ChainCheck } from './event-chain.ts'
import { blobMarkers, contentHash } from './event-data.ts'
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

interface JournalRecord extends ChainedRecord {
  run_id: string
  project: string
  head: number
}

/** Stored JSON with the place it is at. */
interface StoredData {
  run_id: string
  project: string
  part: string
  data: string
  seq?: number
}

/** Checks the journals of all runs, or of one: sequence, hash chain, JSON and the long values, which are stored as blobs. */
function* checkJournals(db: Database, run_id: string | undefined): Iterable<StoreProblem> {
  const blobs = new BlobCheck(db)
  const where = run_id === undefined ? '' : 'WHERE runs.run_id = ?'
  const runs = db.prepare(`SELECT id, run_id, project, head FROM runs ${where} ORDER BY id`)
  const found: unknown[] = run_id === undefined ? runs.all() : runs.all(run_id)
  for (const { id, ...identity } of found as (Pick<JournalRecord, 'run_id' | 'project' | 'head'> & { id: number })[]) {
    yield* journalProblems({ db, id, blobs }, identity)
    yield* commandProblems({ db, id, blobs }, identity)
  }
  if (run_id === undefined) yield* blobs.unusedProblems()
}

interface CheckedRun {
  db: Database
  id: number
  blobs: BlobCheck
}

function* journalProblems(
  { db, id, blobs }: CheckedRun,
  { run_id, project, head }: Pick<JournalRecord, 'run_id' | 'project' | 'head'>,
): Iterable<StoreProblem> {
  const records = db.prepare(
    `SELECT seq, at, events.type, sessions.session_id, data, hash FROM events
     LEFT JOIN sessions ON sessions.id = events.session WHERE events.run = ? ORDER BY seq`,
  )
  const chain = new ChainCheck(run_id)
  const found: Iterable<unknown> = records.iterate(id)
  let last = 0
  for (const record of found as Iterable<ChainedRecord>) {
    const { seq, data } = record
    last = seq
    const found = [...blobs.dataProblems({ run_id, project, part: `event ${seq}`, data, seq })]
    yield* found
    for (const problem of chain.next(record)) {
      const isKnown = problem.rule === 'chain' && found.some(({ rule }) => rule === 'data')
      if (!isKnown) yield { rule: problem.rule, run_id, seq: problem.seq, message: `run ${run_id}: ${problem.problem}` }
    }
  }
  if (last === head) return
  const message =
    last < head
      ? `its last events, ${last + 1} to ${head}, are missing`
      : `it is at event ${head}, but has event ${last}`
  yield { rule: 'sequence', run_id, seq: Math.min(last, head) + 1, message: `run ${run_id}: ${message}` }
}

/** The answer of a person can be as large as any event. */
function* commandProblems(
  { db, id, blobs }: CheckedRun,
  { run_id, project }: Pick<JournalRecord, 'run_id' | 'project'>,
): Iterable<StoreProblem> {
  for (const command of db.prepare('SELECT id, body FROM commands WHERE run = ? ORDER BY id').iterate(id))
    yield* blobs.dataProblems({ run_id, project, part: `command ${String(command.id)}`, data: String(command.body) })
}

/** Checks that the blobs of stored data are there and have the content that their hash names. */
class BlobCheck {
  readonly #db: Database
  readonly #content
  /** By hash and project: the problem, or `undefined`. */
  readonly #checked = new Map<string, string | undefined>()

  constructor(db: Database) {
    this.#db = db
    this.#content = db.prepare('SELECT content FROM blobs WHERE project = ? AND hash = ?')
  }

  *dataProblems({ run_id, project, part, data, seq }: StoredData): Iterable<StoreProblem> {
    const place = { run_id, ...(seq === undefined ? undefined : { seq }) }
    const value = parseJson(data)
    if (value === undefined) {
      yield { rule: 'data', ...place, message: `run ${run_id}, ${part}: the data is not JSON` }
      return
    }
    if (!data.includes('"$blob"')) return
    for (const { marker, path } of blobMarkers(value)) {
      const problem = this.#problem(project, marker.$blob)
      if (problem !== undefined)
        yield {
          rule: 'blob',
          ...place,
          message: `run ${run_id}, ${part}: ${path} ${problem} (blob ${marker.$blob}, ${marker.size} bytes)`,
        }
    }
  }

  /** Blobs with changed content that were not checked yet: no event or command uses them. */
  *unusedProblems(): Iterable<StoreProblem> {
    for (const { project, hash, content } of this.#db.prepare('SELECT project, hash, content FROM blobs').iterate()) {
      if (this.#checked.has(blobKey(String(project), String(hash)))) continue
      if (contentHash(String(content)) !== hash)
        yield { rule: 'blob', message: `blob ${String(hash)} has changed content, or is not from Troupe` }
    }
  }

  #problem(project: string, hash: string): string | undefined {
    const key = blobKey(project, hash)
    if (this.#checked.has(key)) return this.#checked.get(key)
    const content = this.#content.get(project, hash)?.content
    const problem =
      content === undefined ? 'is missing' : contentHash(String(content)) === hash ? undefined : 'has changed content'
    this.#checked.set(key, problem)
    return problem
  }
}

function blobKey(project: string, hash: string): string {
  return `${hash}${project}`
}
