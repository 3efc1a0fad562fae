import { existsSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { toTroupeError } from '../../errors.ts'
import type { SqliteConnectionOptions } from './connection.ts'
import { retryWhileBusy, SqliteConnection } from './connection.ts'
import { markPath } from './file-checks/commit-mark.ts'
import { APPLICATION_ID, applicationId, inspectDatabase } from './file-checks/inspect-database.ts'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'
import { copyForReading } from './read-only-copy.ts'
import { readOnlyError } from './sqlite-errors.ts'

const LOSS_CHECKS = 3
const LOSS_CHECK_MS = 50
const CLOSE_ATTEMPTS = 2
const CLOSE_JITTER_MS = 20

/**
 * Opens or creates the database file. A file that is not a troupe store, newer or damaged is not changed. One that lacks its newest commits is
 * opened for reading.
 */
export async function openConnection(path: string, options: SqliteConnectionOptions): Promise<SqliteConnection> {
  for (let check = 1; ; check++) {
    const lost = await retryWhileBusy(path, options.busy_ms, () => inspectDatabase(path))
    if (!lost) return openWritable(path, options)
    if (check === LOSS_CHECKS) return openReadOnly(path, options)
    // Another process may open or close the file, or delete a run, at this moment.
    await sleep(LOSS_CHECK_MS)
  }
}

function openWritable(path: string, options: SqliteConnectionOptions): Promise<SqliteConnection> {
  const { ownership } = options
  if (ownership && statSync(path).size === 0) ownership.onCreate()
  return retryWhileBusy(path, options.busy_ms, () => {
    const db = openDatabase(path)
    try {
      db.exec('PRAGMA page_size = 4096')
      // Before WAL mode, so that the id is in the file itself and not in a log that may be lost.
      if (applicationId(db) === 0 && !ownership?.findProblem()) db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
      db.exec('PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON')
      db.exec('PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY')
      return new SqliteConnection(path, db, options)
    } catch (thrown) {
      db.close()
      throw thrown
    }
  })
}

/** Opens a file that cannot be written: its folder is read-only, it belongs to another user, or it lacks its newest commits. */
export async function openReadOnly(path: string, options: SqliteConnectionOptions): Promise<SqliteConnection> {
  const open = (file: string) => {
    const lost = inspectDatabase(file, path)
    const connection = new SqliteConnection(path, openDatabase(file, { readOnly: true }), options)
    connection.writeProblem = lost ?? readOnlyError(path)
    return connection
  }
  try {
    return await retryWhileBusy(path, options.busy_ms, () => open(path))
  } catch (thrown) {
    // Its log has to be read, too, which takes files that SQLite cannot create there.
    if (!['store_read_only', 'store_failed'].includes(toTroupeError(thrown).code)) throw thrown
  }
  const copy = copyForReading(path)
  try {
    const connection = await retryWhileBusy(path, options.busy_ms, () => open(copy.path))
    connection.onClose = copy.remove
    return connection
  } catch (thrown) {
    copy.remove()
    throw thrown
  }
}

/**
 * Closes the file. Two processes that close it at once keep each other from being the last, and would both leave the log: so each looks again,
 * at a time of its own, once it has let go of the file.
 */
export async function closeConnection(connection: SqliteConnection): Promise<void> {
  const { path } = connection
  let isComplete = connection.close()
  for (let attempt = 1; !isComplete && attempt <= CLOSE_ATTEMPTS; attempt++) {
    await sleep(Math.random() * CLOSE_JITTER_MS)
    if (!existsSync(path) || !existsSync(markPath(path))) return
    let db: Database | undefined
    try {
      db = openDatabase(path)
      isComplete = new SqliteConnection(path, db, { durability: 'normal', busy_ms: 0 }).close()
    } catch {
      // Another process holds a lock, and has the file open. Closing never fails.
      if (db?.isOpen) db.close()
    }
  }
}

/** Lets the next process that opens the file go on with what is left of it. */
export async function acceptLoss(path: string, options: SqliteConnectionOptions): Promise<void> {
  const connection = await openWritable(path, options)
  try {
    await connection.retry(() => connection.forgetCommits())
  } finally {
    connection.close()
  }
}
