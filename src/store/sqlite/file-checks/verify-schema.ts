import { migrationsBetween } from '../migrate.ts'
import type { Database } from '../node-sqlite.ts'
import { openDatabase } from '../node-sqlite.ts'
import { createStatements } from '../pattern-table-sql.ts'
import { readDeclarations } from '../projection-catalogue.ts'
import { corruptError, isBusy } from '../sqlite-errors.ts'

/*
 * Prevents a planted store: a database that came with a repository can hold triggers, views or generated columns that write
 * rows of their own, such as a person's permission. Only the exact schema of a version is accepted.
 */

/** Tables in which SQLite keeps the statistics of `ANALYZE`, which other tools may run. */
const STATISTICS: ReadonlyMap<string, string> = new Map([
  ["table 'sqlite_stat1'", 'sqlite_stat1: CREATE TABLE sqlite_stat1(tbl,idx,stat)'],
  ["table 'sqlite_stat4'", 'sqlite_stat4: CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'],
])

const CATALOGUE = "table 'projections'"

const schemas = new Map<string, ReadonlyMap<string, string>>()

/**
 * Throws `store_corrupt` if the database has anything but the tables and indexes of this schema version, and the plain tables that its
 * patterns declare.
 */
export function verifySchema(db: Database, path: string, version: number): void {
  if (version === 0) return
  const found = readSchema(db)
  const statements = declaredTables(db, path, found)
  const key = JSON.stringify([version, statements])
  const expected = schemas.get(key) ?? expectedSchema(version, statements)
  schemas.set(key, expected)
  for (const [name, sql] of found) {
    if ((expected.get(name) ?? STATISTICS.get(name)) !== sql)
      throw corruptError(path, `has a ${name} that Troupe did not create`)
  }
  const missing = [...expected.keys()].find((name) => !found.has(name))
  if (missing !== undefined) throw corruptError(path, `has no ${missing}`)
}

/** The statements of the tables that the catalogue of this file declares. They are made here: no SQL of the file is executed. */
function declaredTables(db: Database, path: string, found: ReadonlyMap<string, string>): string[] {
  // A view in place of the catalogue could compute rows.
  if (!found.get(CATALOGUE)?.startsWith('projections: CREATE TABLE')) return []
  try {
    return readDeclarations(db).flatMap(createStatements)
  } catch (thrown) {
    if (isBusy(thrown)) throw thrown
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw corruptError(path, `has an invalid row in the table 'projections' (${reason})`)
  }
}

function expectedSchema(version: number, declared: readonly string[]): ReadonlyMap<string, string> {
  const db = openDatabase(':memory:')
  try {
    for (const migration of migrationsBetween(0, version)) db.exec(migration)
    for (const statement of declared) db.exec(statement)
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
