import type { StoreHeads } from '../store.ts'
import type { SqliteConnection } from './connection.ts'
import { orphanProblems, structureProblems } from './integrity-check.ts'
import { changedBlobs } from './journal-check.ts'
import type { Database } from './node-sqlite.ts'
import { quote } from './pattern-table-sql.ts'
import { readDeclarations } from './projection-catalogue.ts'
import { ALL_STATUSES } from './run-table.ts'
import { corruptError } from './sqlite-errors.ts'

/*
 * Prevents planted rows: a database that came with a repository can have rows that take effect only later, because they name the row of a run, a
 * session or an event that does not exist yet, or the hash of a value that is stored later. Others hide a run from some queries.
 * 1. Everything is read in one transaction: what is not among the heads was stored after the checks.
 * 2. Heads are read from the table itself, without conditions: `integrity_check` has compared its indexes with it.
 */

/** SQLite uses the greatest row id plus 1, and random ones after the last: a store that was written by Troupe is far from it. */
const MAX_ROW_ID = 2 ** 48
const STATUSES = ALL_STATUSES.map((status) => `'${status}'`).join(', ')
const ROW_ID = `BETWEEN 1 AND ${MAX_ROW_ID}`
const isRowId = (column: string) => `(typeof(${column}) = 'integer' AND ${column} ${ROW_ID})`
const isText = (column: string) => `(typeof(${column}) = 'text' AND instr(${column}, char(0)) = 0)`
const isEvent = (column: string, condition = '') =>
  `EXISTS (SELECT 1 FROM events WHERE events.id = ${column} ${condition})`

/** Conditions that each row of a table satisfies if Troupe has written it. */
const CONDITIONS: Readonly<Record<string, string>> = {
  runs: `${isRowId('id')} AND ${isRowId('head')} AND ${isText('run_id')} AND ${isText('project')} AND status IN (${STATUSES})`,
  events: `${isRowId('id')} AND ${isRowId('seq')}`,
  sessions: `${isRowId('id')} AND (opened_event IS NULL OR ${isEvent('opened_event')})
    AND (ended_event IS NULL OR ${isEvent('ended_event')})`,
  segments: 'session IN (SELECT id FROM sessions)',
  gates: `${isEvent('opened_event', "AND events.run = gates.run AND type = 'gate:open' AND data ->> '$.gate_id' = gates.gate_id")}
    AND (answered_event IS NULL OR ${isEvent('answered_event', "AND events.run = gates.run AND type = 'gate:answer'")})`,
  artifacts: isEvent('event', 'AND events.run = artifacts.run'),
  commands: `${isRowId('id')} AND CASE WHEN json_valid(body) THEN gate_id IS body ->> '$.gate_id' ELSE FALSE END AND (gate_id IS NULL
    OR EXISTS (SELECT 1 FROM gates WHERE gates.gate_id = commands.gate_id AND gates.run = commands.run))`,
}

/** The last command and the head of every run. Throws `store_corrupt` if the database has rows that Troupe does not write. */
export function readForeignHeads({ db, path }: SqliteConnection): StoreHeads {
  db.exec('BEGIN')
  try {
    for (const problem of contentProblems(db, path))
      throw corruptError(path, `has content that Troupe did not write: ${problem}`)
    return { command: newestCommand(db), heads: readHeads(db) }
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK')
  }
}

function* contentProblems(db: Database, path: string): Iterable<string> {
  for (const { message } of structureProblems(db, path)) yield message
  for (const { message } of orphanProblems(db)) yield message
  const tables = readDeclarations(db).flatMap((declaration) => declaration.tables)
  const ofPatterns = tables.map(({ name }) => [name, 'run_id IN (SELECT run_id FROM runs)'] as const)
  for (const [table, condition] of [...Object.entries(CONDITIONS), ...ofPatterns]) {
    if (db.prepare(`SELECT 1 FROM ${quote(table)} WHERE (${condition}) IS NOT TRUE LIMIT 1`).get())
      yield `the table '${table}' has an invalid row`
  }
  for (const { message } of changedBlobs(db)) yield message
}

function newestCommand(db: Database): number {
  return Number(db.prepare('SELECT coalesce(max(id), 0) AS id FROM commands').get()?.id)
}

/** A forged row may name an earlier head than its journal has: the events after it would count as recorded here. */
const HEADS = `SELECT run_id, max(head, coalesce((SELECT max(seq) FROM events WHERE events.run = runs.id), 0)) AS head FROM runs`

function readHeads(db: Database): Map<string, number> {
  const heads = new Map<string, number>()
  for (const { run_id, head } of db.prepare(HEADS).iterate())
    heads.set(String(run_id), Math.max(Number(head), heads.get(String(run_id)) ?? 0))
  return heads
}
