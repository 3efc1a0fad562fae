import { statSync } from 'node:fs'
import { TroupeError } from '../../../errors.ts'

/** A look costs about as much as a small commit without a sync. */
const CHECK_MS = 100

/*
 * Notices that the database file, or its write-ahead log, was removed or replaced: SQLite goes on writing to the deleted file, so that
 * actions would be carried out and recorded nowhere.
 */
export class FileIdentity {
  readonly #path: string
  readonly #file: string | undefined
  #log: string | undefined
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(path: string) {
    this.#path = path
    this.#file = fileId(path)
  }

  /** True if another file has taken the place of the database. */
  get isReplaced(): boolean {
    return ![this.#file, undefined].includes(fileId(this.#path))
  }

  /** Throws `store_failed` if one of the files is not the one that was opened. Looks now and then, unless `always` is set, as before an action. */
  check(always: boolean): void {
    const now = performance.now()
    if (!always && now - this.#checkedAt < CHECK_MS) return
    this.#checkedAt = now
    if (fileId(this.#path) !== this.#file) throw replacedError(this.#path)
    const log = `${this.#path}-wal`
    if (this.#log !== undefined && fileId(log) !== this.#log) throw replacedError(log)
  }

  /** Call it after a commit, which creates the log. Returns whether it was not known. */
  recordLog(): boolean {
    if (this.#log !== undefined) return false
    this.#log = fileId(`${this.#path}-wal`)
    return this.#log !== undefined
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
