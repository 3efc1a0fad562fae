import type { ConnectionOptions } from './connection.ts'
import { Connection } from './connection.ts'
import { APPLICATION_ID, applicationOf, inspect } from './inspect.ts'
import { openDatabase } from './node-sqlite.ts'
import { untilFree } from './waiting.ts'

/** Opens the file, or makes a new one. A file that is not ours, newer or damaged is left as it was found. */
export async function connect(path: string, options: ConnectionOptions): Promise<Connection> {
  await untilFree(path, options.busy_ms, () => inspect(path))
  return untilFree(path, options.busy_ms, () => {
    const db = openDatabase(path)
    try {
      db.exec('PRAGMA page_size = 8192')
      // Before WAL, so that the mark is in the file itself and not in a log that may be lost.
      if (applicationOf(db) === 0) db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON')
      db.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY')
      return new Connection(path, db, options)
    } catch (thrown) {
      db.close()
      throw thrown
    }
  })
}
