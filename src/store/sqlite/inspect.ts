import { statSync } from 'node:fs'
import { damaged } from './failure.ts'
import { MIGRATIONS, newer, schemaOf } from './migrate.ts'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'

/** 'trpe': what tells a troupe store from any other SQLite file. */
export const APPLICATION_ID = 0x74727065

const SMALLEST_DATABASE = 512

/** Looks at an existing file without being able to change it; throws if it is not ours, newer or damaged. */
export function inspect(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return
  // SQLite takes a file too short for a page to be empty, and would write over it.
  if (size < SMALLEST_DATABASE) throw damaged(path, 'is not a troupe store')
  const db = openDatabase(path, { readOnly: true })
  try {
    if (isEmpty(db)) return
    if (applicationOf(db) !== APPLICATION_ID) throw damaged(path, 'is a database of another program')
    if (schemaOf(db) > MIGRATIONS.length) throw newer(path, schemaOf(db), MIGRATIONS.length)
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all()
    for (const { name } of tables) db.prepare(`SELECT 1 FROM "${String(name)}" LIMIT 1`).get()
  } finally {
    db.close()
  }
}

export function applicationOf(db: Database): number {
  return Number(db.prepare('PRAGMA application_id').get()?.application_id ?? 0)
}

/** Another process may be creating the file at this moment: it belongs to nobody yet. */
function isEmpty(db: Database): boolean {
  return applicationOf(db) === 0 && schemaOf(db) === 0 && !db.prepare('SELECT 1 FROM sqlite_schema').get()
}
