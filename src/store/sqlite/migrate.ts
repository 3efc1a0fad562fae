import { TroupeError } from '../../errors.ts'
import type { SqliteConnection } from './connection.ts'
import { initialSchema } from './migrations/0001-initial-schema.ts'
import type { Database } from './node-sqlite.ts'

/** From schema n to schema n + 1, in order. */
export const MIGRATIONS: readonly string[] = [initialSchema]

export function schemaVersion(db: Database): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

/** Brings the file to the newest schema: all steps or none, so that a crash half-way leaves the older schema whole. */
export async function migrate(connection: SqliteConnection, steps: readonly string[] = MIGRATIONS): Promise<void> {
  const { db, path } = connection
  const at = await connection.retry(() => schemaVersion(db))
  if (at === steps.length) return
  if (at > steps.length) throw newerSchemaError(path, at, steps.length)
  await connection.write('full', () => {
    const from = schemaVersion(db)
    if (from > steps.length) throw newerSchemaError(path, from, steps.length)
    for (const step of steps.slice(from)) db.exec(step)
    db.exec(`PRAGMA user_version = ${steps.length}`)
  })
}

export function newerSchemaError(path: string, found: number, known: number): TroupeError {
  return new TroupeError('store_newer', `${path} has schema ${found}; this version of troupe knows up to ${known}`, {
    hint: 'update troupe, or name another place with --store or TROUPE_STORE; nothing was changed',
  })
}
