import { hash } from 'node:crypto'
import type { SqliteConnection } from './connection.ts'
import { toStoreError } from './sqlite-errors.ts'
import type { ValueRef } from './value-refs.ts'
import { isBackRef, parseRefs } from './value-refs.ts'

const MAX_PROBLEMS = 100

/** Reads the whole file: its structure, every journal's numbering, every blob. Problems in words. */
export function checkIntegrity({ db, path }: SqliteConnection): string[] {
  return [structure, numbering, missingValues, changedBlobs].flatMap(problemsOf).slice(0, MAX_PROBLEMS)

  /** Damage that stops one look at the file must not hide what the others find. */
  function problemsOf(look: () => Iterable<string>): string[] {
    try {
      return [...look()]
    } catch (thrown) {
      return [toStoreError(thrown, path).message]
    }
  }

  function* structure(): Iterable<string> {
    for (const row of db.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).iterate()) {
      if (row.integrity_check !== 'ok') yield `${path}: ${String(row.integrity_check)}`
    }
  }

  function* numbering(): Iterable<string> {
    const runs = db.prepare(
      `SELECT run_id, head, count(events.id) AS events, coalesce(max(seq), 0) AS last
       FROM runs LEFT JOIN events ON events.run = runs.id GROUP BY runs.id HAVING events != head OR last != head`,
    )
    for (const { run_id, head, events, last } of runs.iterate()) {
      yield `run ${String(run_id)} stands at event ${String(head)} but has ${String(events)} events up to ${String(last)}`
    }
  }

  function* missingValues(): Iterable<string> {
    const byHash = db.prepare('SELECT 1 FROM blobs WHERE project = ? AND hash = ?')
    const byNumber = db.prepare('SELECT 1 FROM blobs WHERE id = ?')
    const bySeq = db.prepare('SELECT 1 FROM events WHERE run = ? AND seq = ?')
    const references = db.prepare(
      'SELECT run, run_id, project, seq, refs FROM events JOIN runs ON runs.id = events.run WHERE refs IS NOT NULL',
    )
    for (const { run, run_id, project, seq, refs } of references.iterate()) {
      const known = (ref: ValueRef) => {
        if (isBackRef(ref)) return bySeq.get(Number(run), ref[1])
        return typeof ref[1] === 'string' ? byHash.get(String(project), ref[1]) : byNumber.get(ref[1])
      }
      for (const ref of parseRefs(String(refs))) {
        if (known(ref)) continue
        yield `run ${String(run_id)}, event ${String(seq)}: ${formatSlot(ref[0])} is missing (${formatRef(ref)})`
      }
    }
  }

  function* changedBlobs(): Iterable<string> {
    for (const row of db.prepare('SELECT hash, bytes FROM blobs').iterate()) {
      const found = hash('sha256', row.bytes as Uint8Array, 'hex')
      if (found !== row.hash) yield `blob ${String(row.hash)} holds other content (${found})`
    }
  }
}

function formatSlot(slot: number | string): string {
  return typeof slot === 'number' ? `value ${slot + 1}` : slot
}

function formatRef(ref: ValueRef): string {
  if (isBackRef(ref)) return `it stands in event ${ref[1]}`
  return typeof ref[1] === 'string' ? `blob ${ref[1]}, ${ref[2]} bytes` : `blob number ${ref[1]}`
}
