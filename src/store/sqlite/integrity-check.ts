import type { SqliteConnection } from './connection.ts'
import { blobMarkers, contentHash } from './event-data.ts'
import type { Database } from './node-sqlite.ts'
import { toStoreError } from './sqlite-errors.ts'

const MAX_PROBLEMS = 100

/** Reads the whole file: its structure, the numbering of every journal, and every blob. Returns the problems found. */
export function checkIntegrity({ db, path }: SqliteConnection): string[] {
  const checks = [
    () => structureProblems(db, path),
    () => numberingProblems(db),
    () => missingBlobProblems(db),
    () => changedBlobProblems(db),
    () => projectionProblems(db),
  ]
  return checks.flatMap((check) => runCheck(check, path)).slice(0, MAX_PROBLEMS)
}

/** Damage that aborts one check must not hide the findings of the others. */
function runCheck(check: () => Iterable<string>, path: string): string[] {
  try {
    return [...check()]
  } catch (thrown) {
    return [toStoreError(thrown, path).message]
  }
}

function* structureProblems(db: Database, path: string): Iterable<string> {
  for (const row of db.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).iterate()) {
    if (row.integrity_check !== 'ok') yield `${path}: ${String(row.integrity_check)}`
  }
}

function* numberingProblems(db: Database): Iterable<string> {
  const runs = db.prepare(
    `SELECT run_id, head, count(events.id) AS events, coalesce(max(seq), 0) AS last
     FROM runs LEFT JOIN events ON events.run = runs.id GROUP BY runs.id HAVING events != head OR last != head`,
  )
  for (const { run_id, head, events, last } of runs.iterate()) {
    yield `run ${String(run_id)} is at event ${String(head)} but has ${String(events)} events up to ${String(last)}`
  }
}

/** Events and commands: the answer of a person can be as large as any event. */
function* missingBlobProblems(db: Database): Iterable<string> {
  const byHash = db.prepare('SELECT 1 FROM blobs WHERE project = ? AND hash = ?')
  const rows = db.prepare(
    `SELECT run_id, project, part, CASE WHEN json_valid(data) THEN data END AS data
     FROM (SELECT run, 'event ' || seq AS part, data FROM events
           UNION ALL SELECT run, 'command ' || id AS part, body AS data FROM commands) AS records
     JOIN runs ON runs.id = records.run WHERE instr(data, '"$blob"') OR NOT json_valid(data)`,
  )
  for (const { run_id, project, part, data } of rows.iterate()) {
    const where = `run ${String(run_id)}, ${String(part)}`
    if (data === null) yield `${where}: the data is not JSON`
    else
      for (const { marker, path } of blobMarkers(JSON.parse(String(data)))) {
        if (!byHash.get(String(project), marker.$blob))
          yield `${where}: ${path} is missing (blob ${marker.$blob}, ${marker.size} bytes)`
      }
  }
}

function* changedBlobProblems(db: Database): Iterable<string> {
  for (const { hash, content } of db.prepare('SELECT hash, content FROM blobs').iterate()) {
    const found = contentHash(String(content))
    if (found !== hash) yield `blob ${String(hash)} has changed content (${found})`
  }
}

/** Rows that a pattern could not compute. Tables that are only behind are computed again when they are read. */
function* projectionProblems(db: Database): Iterable<string> {
  for (const { pattern, problem } of db.prepare('SELECT pattern, problem FROM projections').iterate())
    if (problem !== null) yield `the tables of the pattern '${String(pattern)}' lack ${String(problem)}`
}
