import { join } from 'node:path'
import type { Store } from '../store/store.ts'
import type { TroupeOptions } from './troupe-options.ts'

export const DEFAULT_STORE = '.troupe'

export async function openStore({ store = DEFAULT_STORE, durability = 'normal' }: TroupeOptions): Promise<Store> {
  if (typeof store !== 'string') return store
  if (store === 'memory') return new (await import('../store/memory.ts')).MemoryStore()
  return (await import('../store/sqlite.ts')).openSqlite(databasePath(store), { durability })
}

/** The database file of a store that is given as a folder or as the file itself. */
export function databasePath(path: string): string {
  return /\.(db|sqlite3?)$/i.test(path) ? path : join(path, 'troupe.db')
}
