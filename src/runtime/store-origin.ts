import { setTimeout as sleep } from 'node:timers/promises'
import type { ImportedHeads } from '../formats/store-record.ts'
import { deleteStoreRecord, readStoreRecord, writeStoreRecord } from '../formats/store-record.ts'
import type { ImportedRuns } from '../kernel/imported-runs.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Store } from '../store/store.ts'

/*
 * Which runs were recorded elsewhere, from the records of the stores that this installation has created.
 * 1. A store is recorded before its first run: a store with runs and without a record was made elsewhere.
 * 2. Of a store that was made elsewhere, the heads of all its runs are recorded when this installation first executes runs in it, and rows that
 *    Troupe does not write are rejected. So every other run, and every later command, is of this installation.
 * 3. A log beside the file that nobody here has written replaces its content: from then on the store was made elsewhere.
 */

/** Records that this installation has created the store. */
export async function recordOwnStore(path: string): Promise<void> {
  await writeStoreRecord(path)
}

const LOG_CHECKS = 4
const LOG_CHECK_MS = 50

/** Call it before the store is opened, which merges the log. */
export async function disownStoreWithForeignLog(path: string): Promise<void> {
  const { hasForeignLog } = await import('../store/sqlite/file-checks/commit-mark.ts')
  for (let check = 1; hasForeignLog(path); check++) {
    // Of a store without a record, the heads are yet to be recorded; those of an imported one are no longer the same.
    if (check === LOG_CHECKS) return deleteStoreRecord(path)
    // Another process may open or close the file at this moment.
    await sleep(LOG_CHECK_MS)
  }
}

/** The runs that were recorded elsewhere; `undefined` if this installation has created the store. */
export async function findImportedRuns(
  store: Store,
  { path, limits }: { path: string; limits: Limits },
): Promise<ImportedRuns | undefined> {
  const known = await readStoreRecord(path)
  const found = known ? known.imported : await recordHeads(store, path)
  if (!found) return undefined
  const heads = new Map(found.heads)
  return { command: found.command, limits, head: (run_id) => heads.get(run_id) ?? 0 }
}

async function recordHeads(store: Store, path: string): Promise<ImportedHeads | undefined> {
  const { command, heads } = (await store.foreignHeads?.()) ?? { command: 0, heads: new Map<string, number>() }
  // Read after the runs: whoever created the store has recorded it before its first run.
  const known = await readStoreRecord(path)
  if (known) return known.imported
  const found = { command, heads: [...heads] }
  await writeStoreRecord(path, found)
  return found
}
