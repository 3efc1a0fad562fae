import { TroupeError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import { first } from './migrations/0001-first.ts'
import type { Database } from './node-sqlite.ts'

/** From schema n to schema n + 1, in order. */
export const MIGRATIONS: readonly string[] = [first]

export function schemaOf(db: Database): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

/** Brings the file to the newest schema: all steps or none, so that a crash half-way leaves the older schema whole. */
export async function migrate(connection: Connection, steps: readonly string[] = MIGRATIONS): Promise<void> {
  const { db, path } = connection
  const at = await connection.retry(() => schemaOf(db))
  if (at === steps.length) return
  if (at > steps.length) throw newer(path, at, steps.length)
  await connection.write('full', () => {
    const from = schemaOf(db)
    if (from > steps.length) throw newer(path, from, steps.length)
    for (const step of steps.slice(from)) db.exec(step)
    db.exec(`PRAGMA user_version = ${steps.length}`)
  })
}

export function newer(path: string, found: number, known: number): TroupeError {
  return new TroupeError('store_newer', `${path} has schema ${found}; this version of troupe knows up to ${known}`, {
    hint: 'update troupe, or name another place with --store or TROUPE_STORE; nothing was changed',
  })
}
