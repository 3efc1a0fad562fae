import { setTimeout as sleep } from 'node:timers/promises'
import type { TroupeError } from '../../errors.ts'
import type { Sync } from '../../kernel/journal/journal.ts'
import type { CommitMark } from './file-checks/commit-mark.ts'
import { MarkFile } from './file-checks/commit-mark.ts'
import { FileIdentity } from './file-checks/file-identity.ts'
import type { Database } from './node-sqlite.ts'
import { isBusy, lockedError, toStoreError } from './sqlite-errors.ts'

/*
 * Invariants
 * 1. SQLite never blocks this thread: a held lock fails the attempt, and waiting is asynchronous.
 * 2. A transaction that throws is rolled back.
 * 3. A transaction with full sync is on disk when it returns, and so are all earlier ones, unless the durability is `relaxed`.
 * 4. Never open the database file by other means: closing any other file handle drops this process's POSIX locks on it,
 *    and another process could then delete the write-ahead log while it is in use.
 * 5. The first write turns WAL mode on, and the last process to close the file turns it off (`file-checks/commit-mark.ts`). In between, only the
 *    header of the file is written without the log: its changed bytes are in one sector, which needs no rollback journal on disk.
 */

/** The path of a store in memory. That of a file is absolute. */
export const MEMORY = 'memory'

/** `full` syncs every commit to disk, `normal` those with `sync: 'full'`, `relaxed` none. */
export type Durability = Sync | 'relaxed'

export interface SqliteConnectionOptions {
  durability: Durability
  /** Timeout for a lock that another process holds. */
  busy_ms: number
  ownership?: StoreOwnership | undefined
}

/** Decides whether the store may be written. */
export interface StoreOwnership {
  /** Called with the new file, before anything is stored in it. */
  onCreate(): void
  /** The reason why nothing may be written. Called before every write. */
  findProblem(): TroupeError | undefined
}

export class SqliteConnection {
  readonly path: string
  readonly db: Database
  readonly #options: SqliteConnectionOptions
  /** Both absent in memory. */
  readonly #identity: FileIdentity | undefined
  readonly #mark: MarkFile | undefined
  readonly #begin
  readonly #commit
  /** Called inside a transaction, before anything is read, if another connection has committed since the last one. */
  onForeignCommit: (() => void) | undefined
  /** Set if the store can only be read: every write rejects with it. */
  writeProblem: TroupeError | undefined
  /** Called when the file is closed. */
  onClose: (() => void) | undefined
  readonly #dataVersion
  #lastDataVersion: unknown
  #sync: Sync = 'normal'
  #hasLog: boolean

  constructor(path: string, db: Database, options: SqliteConnectionOptions) {
    this.path = path
    this.db = db
    this.#options = options
    this.#hasLog = this.isInMemory
    this.#identity = this.isInMemory ? undefined : new FileIdentity(path)
    this.#mark = this.isInMemory ? undefined : new MarkFile(path)
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#dataVersion = db.prepare('PRAGMA data_version')
  }

  get isInMemory(): boolean {
    return this.path === MEMORY
  }

  /** The problem if the file lacks its newest commits. */
  get loss(): TroupeError | undefined {
    return this.writeProblem?.code === 'store_corrupt' ? this.writeProblem : undefined
  }

  get ownershipProblem(): TroupeError | undefined {
    return this.#options.ownership?.findProblem()
  }

  /** Runs one transaction now. Throws the error of SQLite, including when the lock is held (`isBusy`). */
  transact<T>(sync: Sync, work: () => T): T {
    const problem = this.writeProblem ?? this.ownershipProblem
    if (problem) throw problem
    const { durability } = this.#options
    // Before the log is turned on, which would create one beside a file that has taken the place of this one.
    this.#identity?.check(sync === 'full' || !this.#hasLog)
    if (!this.#hasLog) this.#turnOnLog()
    this.#setSync(durability === 'normal' ? sync : durability === 'full' ? 'full' : 'normal')
    this.#begin.run()
    try {
      this.#noticeForeignCommit()
      const result = work()
      this.#commit.run()
      if (this.#identity?.recordLog()) this.#mark?.nameLog()
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

  /** Records what the last transaction, of this sync, has committed. */
  markCommit(mark: CommitMark, sync: Sync): void {
    const { durability } = this.#options
    this.#mark?.write(mark, durability === 'full' || (durability === 'normal' && sync === 'full'))
  }

  /** Call it in a transaction that deletes what the mark may name, and after it. */
  clearMark(): void {
    this.#mark?.clear()
  }

  /** Returns false if the log is left to another process that has the file open. */
  close(): boolean {
    if (!this.db.isOpen) return true
    const isReadOnly = this.writeProblem !== undefined || this.ownershipProblem !== undefined
    const isComplete = isReadOnly || this.#turnOffLog()
    this.db.close()
    this.#mark?.close()
    this.onClose?.()
    return isComplete
  }

  /** Replaces the mark by an empty one. */
  forgetCommits(): void {
    this.#turnOnLog()
    this.#mark?.clear()
  }

  #turnOnLog(): void {
    this.#mark?.create()
    if (!this.#isLogOn()) {
      // A mark that is there is that of an earlier file.
      this.#mark?.clear()
      this.db.exec('PRAGMA journal_mode = MEMORY; PRAGMA journal_mode = WAL')
    }
    // A file system without shared memory.
    if (!this.#isLogOn()) this.db.exec('PRAGMA journal_mode = DELETE')
    // Until this process had the file open in WAL mode, another one may have removed the mark.
    this.#mark?.create()
    this.#hasLog = true
  }

  /** Merges the log and says so in the header, unless another process has the file open. */
  #turnOffLog(): boolean {
    try {
      // The log and the mark beside a file that has taken the place of this one are those of that file.
      if (this.#identity?.isReplaced || !this.#isLogOn()) return true
      this.db.exec('PRAGMA synchronous = NORMAL; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY')
      if (this.#isLogOn()) return false
      this.#mark?.remove()
      return true
    } catch {
      // Another process has the file open: the last one does it. Closing never fails.
      return false
    }
  }

  #isLogOn(): boolean {
    // SQLite knows the mode of its last read, which another process may have changed since.
    this.db.prepare('PRAGMA schema_version').get()
    return this.db.prepare('PRAGMA journal_mode').get()?.journal_mode === 'wal'
  }

  #setSync(sync: Sync): void {
    if (this.#sync === sync) return
    this.db.exec(sync === 'full' ? 'PRAGMA synchronous = FULL' : 'PRAGMA synchronous = NORMAL')
    this.#sync = sync
  }

  #noticeForeignCommit(): void {
    const version = this.#dataVersion.get()?.data_version
    if (version === this.#lastDataVersion) return
    this.onForeignCommit?.()
    this.#lastDataVersion = version
  }

  #rollback(): void {
    try {
      if (this.db.isTransaction) this.db.exec('ROLLBACK')
    } catch {
      // SQLite may have rolled back by itself, e.g. after a full disk. The first error is the one to report.
    }
  }
}

/** Retries with exponential backoff while another connection holds the lock. Converts other errors to `store_…` codes. */
export async function retryWhileBusy<T>(path: string, busy_ms: number, attempt: () => T): Promise<T> {
  let waited = 0
  for (let backoff = 1; ; backoff = Math.min(backoff * 1.5, 40)) {
    try {
      return attempt()
    } catch (thrown) {
      if (!isBusy(thrown)) throw toStoreError(thrown, path)
      if (waited > busy_ms) throw lockedError(path)
    }
    // Jitter: without it, two processes that collided once would collide at every retry.
    const delay = backoff * (0.5 + Math.random())
    waited += delay
    await sleep(delay)
  }
}
