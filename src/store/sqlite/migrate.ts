import { TroupeError } from '../../errors.ts'
import type { SqliteConnection } from './connection.ts'
import { initialSchema } from './migrations/0001-initial-schema.ts'
import type { Database } from './node-sqlite.ts'

/** The n-th migration brings schema n to schema n + 1. */
export const MIGRATIONS: readonly string[] = [initialSchema]

export function schemaVersion(db: Database): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

/** Applies the missing migrations in one transaction, so that a crash leaves the older schema intact. */
export async function migrate(connection: SqliteConnection, migrations: readonly string[] = MIGRATIONS): Promise<void> {
  const { db, path } = connection
  const latest = migrations.length
  const version = await connection.retry(() => schemaVersion(db))
  if (version === latest) return
  if (version > latest) throw newerSchemaError(path, version, latest)
  await connection.write('full', () => {
    // Read again under the lock: another process may have migrated meanwhile.
    const current = schemaVersion(db)
    if (current > latest) throw newerSchemaError(path, current, latest)
    for (const migration of migrations.slice(current)) db.exec(migration)
    db.exec(`PRAGMA user_version = ${latest}`)
  })
}

export function newerSchemaError(path: string, found: number, known: number): TroupeError {
  return new TroupeError(
    'store_newer',
    `${path} has schema ${found}; this version of troupe supports schemas up to ${known}`,
    {
      hint: 'update troupe, or choose another path with --store or TROUPE_STORE; nothing was changed',
    },
  )
}
