import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { TroupeError } from '../../errors.ts'

const SQLITE_CODES = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  protocol: 15,
  notADb: 26,
}

/** A file that is opened for reading has a journal of an interrupted change beside it. */
const READ_ONLY_ROLLBACK = 776

/** The primary result code of SQLite; 0 for any other error. */
function resultCode(thrown: unknown): number {
  const code = (thrown as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : 0
}

/** True if another connection holds the lock and a retry may help. */
export function isBusy(thrown: unknown): boolean {
  const code = resultCode(thrown)
  return code === SQLITE_CODES.busy || code === SQLITE_CODES.locked || code === SQLITE_CODES.protocol
}

export function lockedError(path: string): TroupeError {
  return new TroupeError('store_failed', `another process keeps the file locked: ${path}`, {
    hint: 'stop the program that uses it (a backup, a database browser, a suspended process) and try again',
  })
}

export function storeFullError(path: string, cause?: unknown): TroupeError {
  return new TroupeError('store_full', `no space left to write ${path}`, {
    hint: 'free some space, then resume; nothing that was confirmed is lost',
    cause,
  })
}

export function readOnlyError(path: string, cause?: unknown): TroupeError {
  return new TroupeError('store_read_only', `${path} cannot be written`, {
    hint: 'make the file and its folder writable, or choose another path with --store or TROUPE_STORE',
    cause,
  })
}

export function corruptError(path: string, problem: string, cause?: unknown): TroupeError {
  return new TroupeError('store_corrupt', `${path} ${problem}`, {
    hint: 'nothing was changed; restore a backup, or move the file away to start a new store',
    cause,
  })
}

/**
 * SQLite would copy the pages of such a journal into the file. Troupe writes with a write-ahead log; only on a file system without shared memory
 * a killed process leaves a journal, without which the file may be damaged.
 */
function rollbackJournalError(path: string, cause: unknown): TroupeError {
  return new TroupeError(
    'store_corrupt',
    `beside ${path} lies ${path}-journal, which would change it when it is opened`,
    {
      hint: 'nothing was changed; if the journal came with a repository or an archive, remove it; if a program was killed while it wrote to the store (Troupe uses a journal on network drives), keep it, since it undoes the incomplete write: copy both files, then sqlite3 applies it with "PRAGMA integrity_check"',
      cause,
    },
  )
}

/** Converts an error of SQLite to a `store_…` code. */
export function toStoreError(thrown: unknown, path: string): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if ((thrown as { errcode?: unknown }).errcode === READ_ONLY_ROLLBACK) return rollbackJournalError(path, thrown)
  switch (resultCode(thrown)) {
    case SQLITE_CODES.busy:
    case SQLITE_CODES.locked:
    case SQLITE_CODES.protocol:
      return lockedError(path)
    case SQLITE_CODES.full:
      return storeFullError(path, thrown)
    case SQLITE_CODES.readOnly:
      return readOnlyError(path, thrown)
    case SQLITE_CODES.corrupt:
      return corruptError(path, `is damaged: ${message}`, thrown)
    case SQLITE_CODES.notADb:
      return corruptError(path, 'is not a troupe store', thrown)
    case SQLITE_CODES.ioError:
    case SQLITE_CODES.cantOpen:
      if (isDiskFull(path)) return storeFullError(path, thrown)
  }
  return new TroupeError('store_failed', `the store ${path} failed: ${message}`, {
    hint: 'check it with: troupe doctor',
    cause: thrown,
  })
}

/** A full disk may surface as an I/O error: a sync fails, or the shared-memory file cannot grow. */
function isDiskFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < 64 * 1024
  } catch {
    return false
  }
}
