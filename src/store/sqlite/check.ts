import { hash } from 'node:crypto'
import type { Connection } from './connection.ts'
import type { Refs } from './encoding.ts'
import { storeFailure } from './failure.ts'

const MOST_PROBLEMS = 100

/** Reads the whole file: its structure, every journal's numbering, every blob. Problems in words. */
export function checkFile({ db, path }: Connection): string[] {
  return [structure, numbering, missingBlobs, changedBlobs].flatMap(problemsOf).slice(0, MOST_PROBLEMS)

  /** Damage that stops one look at the file must not hide what the others find. */
  function problemsOf(look: () => Iterable<string>): string[] {
    try {
      return [...look()]
    } catch (thrown) {
      return [storeFailure(thrown, path).message]
    }
  }

  function* structure(): Iterable<string> {
    for (const row of db.prepare(`PRAGMA integrity_check(${MOST_PROBLEMS})`).iterate()) {
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

  function* missingBlobs(): Iterable<string> {
    const known = db.prepare('SELECT 1 FROM blobs WHERE project = ? AND hash = ?')
    const references = db.prepare(
      'SELECT run_id, project, seq, refs FROM events JOIN runs ON runs.id = events.run WHERE refs IS NOT NULL',
    )
    for (const { run_id, project, seq, refs } of references.iterate()) {
      for (const [field, [wanted, size]] of Object.entries(JSON.parse(String(refs)) as Refs)) {
        if (known.get(String(project), wanted)) continue
        yield `run ${String(run_id)}, event ${String(seq)}: ${field} is missing (blob ${wanted}, ${size} bytes)`
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
