import { TroupeError } from '../../errors.ts'
import type { SqliteConnection } from './connection.ts'
import { jsonEventsSchema } from './migrations/0002-json-events.ts'
import { eventHashesSchema, projectionsSchema, runWordsSchema, wordRowsSchema } from './migrations/0003-to-0006.ts'
import type { Database } from './node-sqlite.ts'

/** The oldest schema that can be opened. Files of earlier development versions are rejected. */
const OLDEST_SCHEMA = 2
/** The first migration creates the oldest schema in an empty file; each of the others brings a schema to the next one. */
export const MIGRATIONS: readonly string[] = [
  jsonEventsSchema,
  projectionsSchema,
  runWordsSchema,
  eventHashesSchema,
  wordRowsSchema,
]

export function newestSchema(migrations: readonly string[] = MIGRATIONS): number {
  return OLDEST_SCHEMA + migrations.length - 1
}

/** The migrations from one schema, 0 for an empty file, to another. */
export function migrationsBetween(from: number, to: number, migrations: readonly string[] = MIGRATIONS): string[] {
  return migrations.slice(from === 0 ? 0 : from - OLDEST_SCHEMA + 1, to - OLDEST_SCHEMA + 1)
}

export function schemaVersion(db: Database): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

/** Applies the missing migrations in one transaction, so that a crash leaves the older schema intact. */
export async function migrate(connection: SqliteConnection, migrations: readonly string[] = MIGRATIONS): Promise<void> {
  const { db, path } = connection
  const latest = newestSchema(migrations)
  const version = await connection.retry(() => schemaVersion(db))
  if (version === latest) return
  checkSchemaVersion(path, version, latest)
  await connection.write('full', () => {
    // Read again under the lock: another process may have migrated meanwhile.
    const current = schemaVersion(db)
    checkSchemaVersion(path, current, latest)
    for (const migration of migrationsBetween(current, latest, migrations)) db.exec(migration)
    db.exec(`PRAGMA user_version = ${latest}`)
  })
  connection.markCommit({ schema: latest }, 'full')
}

/** Creates the newest schema in an empty database. */
export function createSchema(db: Database): void {
  for (const migration of MIGRATIONS) db.exec(migration)
  db.exec(`PRAGMA user_version = ${newestSchema()}`)
}

/** Throws `problem`, the reason why the file cannot be written, if it would have to be migrated. */
export function requireNewestSchema({ db }: SqliteConnection, problem: TroupeError): void {
  const version = schemaVersion(db)
  if (version === newestSchema()) return
  if (version > 0) throw problem
  const hint =
    'nothing is left to read: put the log back, restore a backup, or move the file away; another path: --store or TROUPE_STORE'
  throw new TroupeError(problem.code, problem.message, { hint, cause: problem })
}

/** Throws `store_newer` or `store_older` if this version of Troupe cannot open a file with this schema. */
export function checkSchemaVersion(path: string, found: number, newest: number): void {
  if (found === 0 || (found >= OLDEST_SCHEMA && found <= newest)) return
  const supported = OLDEST_SCHEMA === newest ? `schema ${newest}` : `schemas ${OLDEST_SCHEMA} to ${newest}`
  const isNewer = found > newest
  throw new TroupeError(
    isNewer ? 'store_newer' : 'store_older',
    `${path} has schema ${found}; this version of troupe supports ${supported}`,
    {
      hint: `${isNewer ? 'update troupe' : 'use the version of troupe that wrote it'}, or choose another path with --store or TROUPE_STORE; nothing was changed`,
    },
  )
}
