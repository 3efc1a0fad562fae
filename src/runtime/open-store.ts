import { join } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { TroupeOptions } from './troupe-options.ts'

export const DEFAULT_STORE = '.troupe'

/** Opens the store of the options. A store that is opened here takes the time of its leases from `now`. */
export async function openStore(options: TroupeOptions, now: () => number): Promise<Store> {
  const { durability = 'normal' } = options
  const store = storePlace(options)
  if (typeof store !== 'string') return store
  if (store === 'memory') return (await import('../store/sqlite.ts')).openMemory({ now })
  const path = databasePath(store)
  const { storeOwnership } = await import('./store-ownership.ts')
  const ownership = await storeOwnership(path, { isNamed: options.store !== undefined })
  return (await import('../store/sqlite.ts')).openSqlite(path, { durability, now, ownership })
}

/** Where the store is: the one that the options name, or that of the folder. */
export function storePlace(options: TroupeOptions): string | Store {
  const { store, defaultStore = DEFAULT_STORE } = options
  return store === undefined ? defaultStore : store
}

type RequiredName<T> = { [Name in keyof T]-?: undefined extends T[Name] ? never : Name }[keyof T]
type StoreMember = RequiredName<Store>

const STORE_MEMBERS = {
  append: 'function',
  createRun: 'function',
  lease: 'function',
  renew: 'function',
  release: 'function',
  run: 'function',
  runs: 'function',
  countRuns: 'function',
  claimableRuns: 'function',
  events: 'function',
  eventsOfRuns: 'function',
  session: 'function',
  sessions: 'function',
  segments: 'function',
  sessionEvents: 'function',
  claimSession: 'function',
  gate: 'function',
  openGates: 'function',
  enqueueCommand: 'function',
  commands: 'function',
  commandsSince: 'function',
  newestCommand: 'function',
  artifact: 'function',
  artifacts: 'function',
  takeTokens: 'function',
  putVectors: 'function',
  vectors: 'function',
  deleteVectors: 'function',
  keepTables: 'function',
  queryTable: 'function',
  linkedRuns: 'function',
  sizeOfRuns: 'function',
  deleteRuns: 'function',
  compact: 'function',
  location: 'string',
  changes: 'object',
  checkIntegrity: 'function',
  close: 'function',
} satisfies Readonly<Record<StoreMember, 'function' | 'object' | 'string'>>

/** Missing members that an error names; the rest is counted. */
const MAX_NAMED = 6

/** Throws for something that is no store: otherwise the first run, or `close`, would fail with a `TypeError`. */
export function checkStore(options: TroupeOptions): void {
  const store = storePlace(options)
  if (typeof store === 'string') checkStoreAddress(store)
  if (typeof store === 'string') return
  const members: Readonly<Record<string, unknown>> = Object(store)
  const missing = Object.entries(STORE_MEMBERS).flatMap(([name, type]) => (typeof members[name] === type ? [] : name))
  if (missing.length === 0) return
  const more = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : ''
  const problem =
    typeof store === 'object' && store !== null
      ? `is no store: it lacks ${missing.slice(0, MAX_NAMED).join(', ')}${more}`
      : `is ${store === null ? 'null' : `a ${typeof store}`}, and no store`
  throw new TroupeError('invalid_input', `\`store\` ${problem}`, {
    hint: 'pass a folder, a database file ending in .db or .sqlite, `memory`, or an object with all methods of `Store`, not a promise of one',
  })
}

/** Throws for an address such as `postgres://…` or `:memory:`, which would otherwise become the name of a folder. */
function checkStoreAddress(store: string): void {
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
