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

/** SQLite's primary result code, or 0 if the error is not from SQLite. */
function resultCode(thrown: unknown): number {
  const code = (thrown as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : 0
}

/** Another connection holds the lock: trying again is all there is to do. */
export function isBusy(thrown: unknown): boolean {
  const code = resultCode(thrown)
  return code === SQLITE_CODES.busy || code === SQLITE_CODES.locked || code === SQLITE_CODES.protocol
}

export function lockedError(path: string): TroupeError {
  return new TroupeError('store_failed', `another process keeps the file locked: ${path}`, {
    hint: 'find who uses it (a backup, a database browser, a stopped process) and try again',
  })
}

export function storeFullError(path: string, cause?: unknown): TroupeError {
  return new TroupeError('store_full', `no space left to write ${path}`, {
    hint: 'free some space, then resume: everything confirmed so far is kept',
    cause,
  })
}

export function readOnlyError(path: string, cause?: unknown): TroupeError {
  return new TroupeError('store_read_only', `${path} cannot be written`, {
    hint: 'make the file and its folder writable, or name another place with --store or TROUPE_STORE',
    cause,
  })
}

export function corruptError(path: string, what: string, cause?: unknown): TroupeError {
  return new TroupeError('store_corrupt', `${path} ${what}`, {
    hint: 'nothing was changed; restore a copy, or move the file away to begin a new store',
    cause,
  })
}

/** Whatever a database operation threw, as the operator should read it. */
export function toStoreError(thrown: unknown, path: string): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
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
  return new TroupeError('store_failed', `${path}: ${message}`, { cause: thrown })
}

/** A full disk also shows as a failed sync or a shared-memory file that cannot grow, with codes that do not say so. */
function isDiskFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < 64 * 1024
  } catch {
    return false
  }
}
