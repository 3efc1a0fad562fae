import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { TroupeError } from '../../errors.ts'
import type { SqliteConnection } from './connection.ts'

/** Copies the store, with what is still in its write-ahead log, to a new file that only this user can read. Other processes may go on writing. */
export async function backUp(connection: SqliteConnection, file: string): Promise<void> {
  createPrivateFile(file)
  try {
    await connection.retry(() => connection.db.prepare('VACUUM INTO ?').run(file))
    syncFile(file)
  } catch (thrown) {
    rmSync(file, { force: true })
    throw new TroupeError('store_failed', `cannot copy ${connection.path} to ${file}: ${(thrown as Error).message}`, {
      hint: 'check the space on that disk, and the store with: troupe doctor',
      cause: thrown,
    })
  }
}

function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (thrown) {
    const exists = (thrown as NodeJS.ErrnoException).code === 'EEXIST'
    const problem = exists ? 'it exists already' : (thrown as Error).message
    throw new TroupeError('invalid_input', `cannot write the backup file ${file}: ${problem}`, {
      hint: 'name a new file in an existing folder, such as: troupe backup troupe-backup.db',
      cause: thrown,
    })
  }
}

function syncFile(file: string): void {
  const fd = openSync(file, 'r+')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
