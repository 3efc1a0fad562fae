import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Ports } from '../kernel/ports.ts'
import type { Store } from '../store/store.ts'
import type { TroupeOptions } from './troupe-options.ts'

export const DEFAULT_STORE = '.troupe'

/** Opens the store of the options. A store that is opened here takes the time of its leases from `now`. */
export async function openStore(options: TroupeOptions, now: () => number): Promise<Store> {
  const { store = DEFAULT_STORE, durability = 'normal' } = options
  if (typeof store !== 'string') return store
  if (store === 'memory') return new (await import('../store/memory.ts')).MemoryStore({ now })
  const path = databasePath(store)
  const isNew = !existsSync(path)
  if (!isNew) await (await import('./store-origin.ts')).disownStoreWithForeignLog(path)
  const opened = await (await import('../store/sqlite.ts')).openSqlite(path, { durability, now })
  if (isNew) await (await import('./store-origin.ts')).recordOwnStore(path)
  return opened
}

/** The runs of the store that another installation recorded; none in memory and in a store of the program. */
export async function importedRunsPort(
  { store: given = DEFAULT_STORE }: TroupeOptions,
  store: Store,
  { limits }: { limits: Limits },
): Promise<Pick<Ports, 'imported'>> {
  if (typeof given !== 'string' || given === 'memory') return {}
  const { findImportedRuns } = await import('./store-origin.ts')
  const imported = await findImportedRuns(store, { path: databasePath(given), limits })
  return imported ? { imported } : {}
}

/** Throws for an address such as `postgres://…` or `:memory:`, which would otherwise become the name of a folder. */
export function checkStoreAddress({ store }: TroupeOptions): void {
  if (typeof store !== 'string') return
  // A single letter before the colon is a drive of Windows.
  const [scheme] = /^(?:[a-z][a-z0-9+.-]+:(?:\/\/)?|:|$)/i.exec(store) ?? []
  if (scheme === undefined) return
  // The rest of the address is not shown: it may hold a password.
  throw new TroupeError('invalid_input', `\`store\`: unknown store address '${scheme}${scheme === store ? '' : '…'}'`, {
    hint: 'pass a folder, a database file ending in .db or .sqlite, or `memory`; a path with a colon starts with `./`',
  })
}

/** The database file of a store that is given as a folder or as the file itself. */
export function databasePath(path: string): string {
  return /\.(db|sqlite3?)$/i.test(path) ? path : join(path, 'troupe.db')
}
