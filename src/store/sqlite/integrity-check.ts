import { hash } from 'node:crypto'
import type { SqliteConnection } from './connection.ts'
import type { Database } from './node-sqlite.ts'
import { toStoreError } from './sqlite-errors.ts'
import type { ValueRef } from './value-refs.ts'
import { isBackRef, parseRefs } from './value-refs.ts'

const MAX_PROBLEMS = 100

/** Reads the whole file: its structure, the numbering of every journal, and every blob. Returns the problems found. */
export function checkIntegrity({ db, path }: SqliteConnection): string[] {
  const checks = [
    () => structureProblems(db, path),
    () => numberingProblems(db),
    () => missingValueProblems(db),
    () => changedBlobProblems(db),
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

function* missingValueProblems(db: Database): Iterable<string> {
  const byHash = db.prepare('SELECT 1 FROM blobs WHERE project = ? AND hash = ?')
  const byId = db.prepare('SELECT 1 FROM blobs WHERE id = ?')
  const bySeq = db.prepare('SELECT 1 FROM events WHERE run = ? AND seq = ?')
  const references = db.prepare(
    'SELECT run, run_id, project, seq, refs FROM events JOIN runs ON runs.id = events.run WHERE refs IS NOT NULL',
  )
  for (const { run, run_id, project, seq, refs } of references.iterate()) {
    const find = (ref: ValueRef) => {
      if (isBackRef(ref)) return bySeq.get(Number(run), ref[1])
      return typeof ref[1] === 'string' ? byHash.get(String(project), ref[1]) : byId.get(ref[1])
    }
    for (const ref of parseRefs(String(refs))) {
      if (find(ref)) continue
      yield `run ${String(run_id)}, event ${String(seq)}: ${formatSlot(ref[0])} is missing (${formatRef(ref)})`
    }
  }
}

function* changedBlobProblems(db: Database): Iterable<string> {
  for (const row of db.prepare('SELECT hash, bytes FROM blobs').iterate()) {
    const digest = hash('sha256', row.bytes as Uint8Array, 'hex')
    if (digest !== row.hash) yield `blob ${String(row.hash)} has changed content (${digest})`
  }
}

function formatSlot(slot: number | string): string {
  return typeof slot === 'number' ? `value ${slot + 1}` : slot
}

function formatRef(ref: ValueRef): string {
  if (isBackRef(ref)) return `stored in event ${ref[1]}`
  return typeof ref[1] === 'string' ? `blob ${ref[1]}, ${ref[2]} bytes` : `blob ${ref[1]}`
}
