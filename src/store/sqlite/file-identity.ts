import { closeSync, constants, openSync, readlinkSync, statSync } from 'node:fs'
import { TroupeError } from '../../errors.ts'

/** A look costs about as much as a small commit without a sync. */
const CHECK_MS = 100

const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

/*
 * Notices that the database file, or its write-ahead log, was removed or replaced: SQLite goes on writing to the deleted file, so that
 * actions would be carried out and recorded nowhere.
 */
export class FileIdentity {
  readonly #path: string
  readonly #file: string | undefined
  readonly #log: LogIdentity
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(path: string) {
    this.#path = path
    this.#file = fileId(path)
    this.#log = new LogIdentity(`${path}-wal`)
  }

  /** Throws `store_failed` if one of the files is not the one that was opened. Looks now and then, unless `always` is set, as before an action. */
  check(always: boolean): void {
    const now = performance.now()
    if (!always && now - this.#checkedAt < CHECK_MS) return
    this.#checkedAt = now
    if (fileId(this.#path) !== this.#file) throw replacedError(this.#path)
    if (this.#log.isReplaced()) throw replacedError(`${this.#path}-wal`)
  }

  /** Call it after a commit, which creates the log. Returns whether it was not known. */
  recordLog(): boolean {
    return this.#log.record()
  }

  close(): void {
    this.#log.close()
  }
}

/**
 * Where Linux has moved an open file, its link in /proc says, and ` (deleted)` for one that was removed or replaced. Comparing inodes would read
 * the times of the log: Linux gives such a file new ones with the next write, and the sync that has to store them takes a third longer.
 */
class LogIdentity {
  readonly #path: string
  #id: string | undefined
  #fd: number | undefined
  #link: string | undefined

  constructor(path: string) {
    this.#path = path
  }

  record(): boolean {
    if (this.#id !== undefined) return false
    this.#id = fileId(this.#path)
    if (this.#id === undefined) return false
    try {
      this.#fd = openSync(this.#path, OPEN_FLAGS)
      this.#link = this.#readLink()
    } catch {
      // Without /proc, or the right to read the file: the inodes are compared.
    }
    return true
  }

  isReplaced(): boolean {
    if (this.#id === undefined) return false
    return this.#link === undefined ? fileId(this.#path) !== this.#id : this.#readLink() !== this.#link
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
    this.#link = undefined
  }

  #readLink(): string {
    return readlinkSync(`/proc/self/fd/${this.#fd}`)
  }
}

function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat && `${stat.dev}:${stat.ino}`
}

function replacedError(path: string): TroupeError {
  return new TroupeError('store_failed', `${path} was removed or replaced while this process used it`, {
    retry: false,
    hint: 'put the file back, or restore a backup, then continue with: troupe resume RUN; nothing more is executed or stored here',
  })
}
