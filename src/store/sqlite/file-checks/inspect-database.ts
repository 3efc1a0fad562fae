import { statSync } from 'node:fs'
import type { TroupeError } from '../../../errors.ts'
import { checkSchemaVersion, newestSchema, schemaVersion } from '../migrate.ts'
import type { Database } from '../node-sqlite.ts'
import { openDatabase } from '../node-sqlite.ts'
import { corruptError } from '../sqlite-errors.ts'
import { lostCommitsError, readLogTraces } from './commit-mark.ts'
import { verifySchema } from './verify-schema.ts'

/** 'trpe': marks a SQLite file as a troupe store. */
export const APPLICATION_ID = 0x74727065

const MIN_DATABASE_BYTES = 512

/**
 * Checks an existing file, opened read-only. Throws if it is not a troupe store, newer, older, or damaged. Returns an error if it lacks its
 * newest commits. `original` is the path of the file if it is a copy.
 */
export function inspectDatabase(path: string, original = path): TroupeError | undefined {
  const traces = readLogTraces(original)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return undefined
  // SQLite treats a file shorter than a page as empty and would overwrite it.
  if (size < MIN_DATABASE_BYTES) throw corruptError(path, 'is not a troupe store')
  const db = openDatabase(path, { readOnly: true })
  try {
    // Its header says that there is a log, because it was not closed.
    const hasLogMode = db.prepare('PRAGMA journal_mode').get()?.journal_mode === 'wal'
    if (isEmpty(db)) return undefined
    if (applicationId(db) !== APPLICATION_ID) throw corruptError(path, 'is a database of another program')
    checkSchemaVersion(path, schemaVersion(db), newestSchema())
    verifySchema(db, path, schemaVersion(db))
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all()
    for (const { name } of tables) db.prepare(`SELECT 1 FROM "${String(name)}" LIMIT 1`).get()
    return hasLogMode ? lostCommitsError(db, original, traces) : undefined
  } finally {
    db.close()
  }
}

export function applicationId(db: Database): number {
  return Number(db.prepare('PRAGMA application_id').get()?.application_id ?? 0)
}

/** An empty database is accepted: another process may be creating the store at this moment. */
function isEmpty(db: Database): boolean {
  return applicationId(db) === 0 && schemaVersion(db) === 0 && !db.prepare('SELECT 1 FROM sqlite_schema').get()
}
