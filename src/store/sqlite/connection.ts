import type { Sync } from '../../kernel/journal/journal.ts'
import { retryWhileBusy } from './busy-retry.ts'
import { FileIdentity } from './file-identity.ts'
import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. SQLite never blocks this thread: a held lock fails the attempt, and waiting is asynchronous.
 * 2. A transaction that throws is rolled back.
 * 3. A transaction with full sync is on disk when it returns, and so are all earlier ones, unless the durability is `relaxed`.
 * 4. Never open the database file by other means: closing any other file handle drops this process's POSIX locks on it,
 *    and another process could then delete the write-ahead log while it is in use.
 */

/** `full` syncs every commit to disk, `normal` those with `sync: 'full'`, `relaxed` none. */
export type Durability = Sync | 'relaxed'

export interface SqliteConnectionOptions {
  durability: Durability
  /** Timeout for a lock that another process holds. */
  busy_ms: number
}

export class SqliteConnection {
  readonly path: string
  readonly db: Database
  readonly #options: SqliteConnectionOptions
  readonly #identity: FileIdentity
  readonly #begin
  readonly #commit
  /** Called inside a transaction, before anything is read, if another connection has committed since the last one. */
  onForeignCommit: (() => void) | undefined
  readonly #dataVersion
  #lastDataVersion: unknown
  #sync: Sync = 'normal'

  constructor(path: string, db: Database, options: SqliteConnectionOptions) {
    this.path = path
    this.db = db
    this.#options = options
    this.#identity = new FileIdentity(path)
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#dataVersion = db.prepare('PRAGMA data_version')
  }

  /** Runs one transaction now. Throws the error of SQLite, including when the lock is held (`isBusy`). */
  transact<T>(sync: Sync, work: () => T): T {
    const { durability } = this.#options
    this.#setSync(durability === 'normal' ? sync : durability === 'full' ? 'full' : 'normal')
    this.#identity.check(sync === 'full')
    this.#begin.run()
    try {
      this.#noticeForeignCommit()
      const result = work()
      this.#commit.run()
      this.#identity.recordLog()
      return result
    } catch (thrown) {
      this.#rollback()
      throw thrown
    }
  }

  /** Runs one transaction as soon as the lock is free. */
  write<T>(sync: Sync, work: () => T): Promise<T> {
    return this.retry(() => this.transact(sync, work))
  }

  /** Retries while another connection holds the lock, at most `busy_ms`. */
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

  #noticeForeignCommit(): void {
    const version = this.#dataVersion.get()?.data_version
    if (version === this.#lastDataVersion) return
    this.#lastDataVersion = version
    this.onForeignCommit?.()
  }

  #rollback(): void {
    try {
      if (this.db.isTransaction) this.db.exec('ROLLBACK')
    } catch {
      // SQLite may have rolled back by itself, e.g. after a full disk. The first error is the one to report.
    }
  }
}
