import type { ExternalChanges } from '../changes.ts'
import type { SqliteConnection } from './connection.ts'

/** Bounds how late a change by another process is noticed. */
const POLL_MS = 20

/**
 * Notices commits of other connections with `PRAGMA data_version`, one small read per poll. The timer runs only between
 * `start` and `stop`, and does not keep the process alive.
 */
export class DataVersionPoller implements ExternalChanges {
  readonly #connection: SqliteConnection
  readonly #read
  #version: unknown
  #timer: NodeJS.Timeout | undefined

  constructor(connection: SqliteConnection) {
    this.#connection = connection
    this.#read = connection.db.prepare('PRAGMA data_version')
  }

  start(notify: () => void): void {
    this.#timer ??= setInterval(() => {
      if (this.#hasChanged()) notify()
    }, POLL_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #hasChanged(): boolean {
    if (!this.#connection.db.isOpen) return false
    try {
      const version = this.#read.get()?.data_version
      if (version === this.#version) return false
      this.#version = version
      return true
    } catch {
      // Another process recovers or closes the file at this moment: the next poll reads the version.
      return false
    }
  }
}
