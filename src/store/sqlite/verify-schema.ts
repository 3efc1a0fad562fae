import { migrationsBetween } from './migrate.ts'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'
import { corruptError } from './sqlite-errors.ts'

/*
 * Prevents a planted store: a database that came with a repository can hold triggers, views or generated columns that write
 * rows of their own, such as a person's permission. Only the exact schema of a version is accepted.
 */

/** Tables in which SQLite keeps the statistics of `ANALYZE`, which other tools may run. */
const STATISTICS: ReadonlyMap<string, string> = new Map([
  ["table 'sqlite_stat1'", 'sqlite_stat1: CREATE TABLE sqlite_stat1(tbl,idx,stat)'],
  ["table 'sqlite_stat4'", 'sqlite_stat4: CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'],
])

const schemas = new Map<number, ReadonlyMap<string, string>>()

/** Throws `store_corrupt` if the database has anything but the tables and indexes of this schema version. */
export function verifySchema(db: Database, path: string, version: number): void {
  if (version === 0) return
  const expected = schemas.get(version) ?? expectedSchema(version)
  schemas.set(version, expected)
  const found = readSchema(db)
  for (const [name, sql] of found) {
    if ((expected.get(name) ?? STATISTICS.get(name)) !== sql)
      throw corruptError(path, `has a ${name} that Troupe did not create`)
  }
  const missing = [...expected.keys()].find((name) => !found.has(name))
  if (missing !== undefined) throw corruptError(path, `has no ${missing}`)
}

function expectedSchema(version: number): ReadonlyMap<string, string> {
  const db = openDatabase(':memory:')
  try {
    for (const migration of migrationsBetween(0, version)) db.exec(migration)
    return readSchema(db)
  } finally {
    db.close()
  }
}

/** The definition of each object, by its type and name. */
function readSchema(db: Database): ReadonlyMap<string, string> {
  const rows = db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').all()
  return new Map(rows.map(({ type, name, tbl_name, sql }) => [`${type} '${name}'`, `${tbl_name}: ${sql}`] as const))
}
