import type { Sync } from '../../kernel/journal/journal.ts'
import { retryWhileBusy } from './busy-retry.ts'
import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. SQLite never waits for a lock on this thread: a held lock fails the attempt, and the wait is asynchronous.
 * 2. A transaction that throws leaves nothing behind.
 * 3. A transaction that asks for full sync is on the disk when it returns, and with it all that came before.
 * 4. The database file is never opened by other means: closing any other handle on it would drop the locks that this
 *    process's connections hold, and another process could then delete the log under them.
 */

export interface SqliteConnectionOptions {
  /** `full`: every commit survives a power cut, not only those that ask for it. */
  durability: Sync
  /** How long a lock held by another process is waited for. */
  busy_ms: number
}

export class SqliteConnection {
  readonly path: string
  readonly db: Database
  readonly #options: SqliteConnectionOptions
  readonly #begin
  readonly #commit
  #sync: Sync = 'normal'

  constructor(path: string, db: Database, options: SqliteConnectionOptions) {
    this.path = path
    this.db = db
    this.#options = options
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
  }

  /** One transaction, now. Throws SQLite's own error, also when the lock is held (`isBusy`). */
  transact<T>(sync: Sync, work: () => T): T {
    this.#setSync(this.#options.durability === 'full' ? 'full' : sync)
    this.#begin.run()
    try {
      const result = work()
      this.#commit.run()
      return result
    } catch (thrown) {
      this.#rollback()
      throw thrown
    }
  }

  /** One transaction, as soon as the lock is free. */
  write<T>(sync: Sync, work: () => T): Promise<T> {
    return this.retry(() => this.transact(sync, work))
  }

  /** Something that may meet a lock: tried until it does not, or too long. */
  retry<T>(work: () => T): Promise<T> {
    return retryWhileBusy(this.path, this.#options.busy_ms, work)
  }

  close(): void {
    if (this.db.isOpen) this.db.close()
  }

  #setSync(sync: Sync): void {
    if (this.#sync === sync) return
    this.db.exec(sync === 'full' ? 'PRAGMA synchronous = FULL' : 'PRAGMA synchronous = NORMAL')
    this.#sync = sync
  }

  #rollback(): void {
    try {
      if (this.db.isTransaction) this.db.exec('ROLLBACK')
    } catch {
      // After a full disk or a failed write SQLite has rolled back by itself; the first error is the one to tell.
    }
  }
}
