import { statSync } from 'node:fs'
import { MIGRATIONS, newerSchemaError, schemaVersion } from './migrate.ts'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'
import { corruptError } from './sqlite-errors.ts'

/** 'trpe': what tells a troupe store from any other SQLite file. */
export const APPLICATION_ID = 0x74727065

const MIN_DATABASE_BYTES = 512

/** Looks at an existing file without being able to change it; throws if it is not ours, newer or damaged. */
export function inspectDatabase(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return
  // SQLite takes a file too short for a page to be empty, and would write over it.
  if (size < MIN_DATABASE_BYTES) throw corruptError(path, 'is not a troupe store')
  const db = openDatabase(path, { readOnly: true })
  try {
    if (isEmpty(db)) return
    if (applicationId(db) !== APPLICATION_ID) throw corruptError(path, 'is a database of another program')
    if (schemaVersion(db) > MIGRATIONS.length) throw newerSchemaError(path, schemaVersion(db), MIGRATIONS.length)
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all()
    for (const { name } of tables) db.prepare(`SELECT 1 FROM "${String(name)}" LIMIT 1`).get()
  } finally {
    db.close()
  }
}

export function applicationId(db: Database): number {
  return Number(db.prepare('PRAGMA application_id').get()?.application_id ?? 0)
}

/** Another process may be creating the file at this moment: it belongs to nobody yet. */
function isEmpty(db: Database): boolean {
  return applicationId(db) === 0 && schemaVersion(db) === 0 && !db.prepare('SELECT 1 FROM sqlite_schema').get()
}
