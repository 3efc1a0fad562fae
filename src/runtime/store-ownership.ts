import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { TroupeError } from '../errors.ts'
import { deleteStoreRecord, isOwnStore, isRecordedByInode, recordOwnStore } from '../formats/store-record.ts'
import type { StoreOwnership } from '../store/sqlite/connection.ts'

/*
 * A store is yours or it is only read: a clone can bring one, with forged answers, agents and limits. Yours is what this installation has created, and
 * what the operator names.
 * 1. A store is recorded before anything is stored in its file: one with content and without a record came from elsewhere.
 * 2. Until it is known to be yours, the record is looked up before every operation and write: another process may trust the store at any time.
 * 3. A log beside the file that nobody here has written replaces its content: from then on the store came from elsewhere.
 */

/** Call it before the store is opened. */
export async function storeOwnership(path: string, { isNamed }: { isNamed: boolean }): Promise<StoreOwnership> {
  if (!isNamed && existsSync(path)) await disownStoreWithForeignLog(path)
  let isYours = isNamed
  return {
    onCreate() {
      isYours = true
      try {
        recordOwnStore(path)
      } catch {
        // Without a record, the store has to be named from the next process on.
      }
    },
    findProblem() {
      isYours ||= isOwnStore(path)
      return isYours ? undefined : notYoursError(resolve(path))
    },
  }
}

const LOG_CHECKS = 4
const LOG_CHECK_MS = 50

/** Opening the store merges the log. */
async function disownStoreWithForeignLog(path: string): Promise<void> {
  const { hasForeignLog } = await import('../store/sqlite/file-checks/commit-mark.ts')
  for (let check = 1; hasForeignLog(path, isRecordedByInode(path)); check++) {
    if (check === LOG_CHECKS) return deleteStoreRecord(path)
    // Another process may open or close the file at this moment.
    await sleep(LOG_CHECK_MS)
  }
}

function notYoursError(path: string): TroupeError {
  return new TroupeError('store_not_yours', `${path} was not created by this installation, and is only read`, {
    hint: `if you made it, and it was moved, copied or restored: troupe trust store; for a new store in this folder: troupe trust store --new; for another one: --store PATH; if each container begins with a new home folder: TROUPE_STORE=${path}`,
  })
}
