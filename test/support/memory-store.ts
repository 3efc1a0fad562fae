import { openMemory } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'

/** A store in memory that several troupes use one after another, as processes use a file: closing it keeps what is in it. */
export function memoryStore(options: { now?: () => number } = {}): Store {
  return Object.assign(openMemory(options), { close: async () => {} })
}
