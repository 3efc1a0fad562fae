import { retryWhileBusy } from './busy-retry.ts'
import type { SqliteConnectionOptions } from './connection.ts'
import { SqliteConnection } from './connection.ts'
import { APPLICATION_ID, applicationId, inspectDatabase } from './inspect-database.ts'
import { openDatabase } from './node-sqlite.ts'

/** Opens or creates the database file. A file that is not a troupe store, newer or damaged is not changed. */
export async function openConnection(path: string, options: SqliteConnectionOptions): Promise<SqliteConnection> {
  await retryWhileBusy(path, options.busy_ms, () => inspectDatabase(path))
  return retryWhileBusy(path, options.busy_ms, () => {
    const db = openDatabase(path)
    try {
      db.exec('PRAGMA page_size = 8192')
      // Before WAL mode, so that the id is in the file itself and not in a log that may be lost.
      if (applicationId(db) === 0) db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
      db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON')
      db.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY')
      return new SqliteConnection(path, db, options)
    } catch (thrown) {
      db.close()
      throw thrown
    }
  })
}
