import { setTimeout as sleep } from 'node:timers/promises'
import { deleteStoreRecord, readStoreRecord, writeStoreRecord } from '../formats/store-record.ts'
import type { ImportedRuns } from '../kernel/imported-runs.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Store } from '../store/store.ts'

/*
 * Which runs were recorded elsewhere, from the records of the stores that this installation has created.
 * 1. A store is recorded before its first run: a store with runs and without a record was made elsewhere.
 * 2. Of a store that was made elsewhere, the heads of its runs are recorded when this installation first executes runs in it.
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
  const { hasForeignLog } = await import('../store/sqlite/commit-mark.ts')
  for (let check = 1; hasForeignLog(path); check++) {
    // Of a store without a record, the heads are yet to be recorded; those of an imported one are no longer the same.
    if (check === LOG_CHECKS) return deleteStoreRecord(path)
    // Another process may open or close the file at this moment.
    await sleep(LOG_CHECK_MS)
  }
}

/** The runs of a project that were recorded elsewhere; `undefined` if this installation has created the store. */
export async function findImportedRuns(
  store: Store,
  { path, project, limits }: { path: string; project: string; limits: Limits },
): Promise<ImportedRuns | undefined> {
  const known = await readStoreRecord(path)
  if (known && !known.imported) return undefined
  const found = known?.imported?.[project] ?? (await recordHeads(store, path, project))
  if (!found) return undefined
  const { command, heads } = found
  return { command, limits, head: (run_id) => (Object.hasOwn(heads, run_id) ? (heads[run_id] ?? 0) : 0) }
}

async function recordHeads(store: Store, path: string, project: string) {
  const command = await store.newestCommand()
  const heads = await readHeads(store, project)
  // Read after the runs: whoever created the store has recorded it before its first run.
  const known = await readStoreRecord(path)
  if (known && !known.imported) return undefined
  const found = { command, heads }
  await writeStoreRecord(path, { ...known?.imported, [project]: found })
  return found
}

const RUNS_PER_PAGE = 500

async function readHeads(store: Store, project: string): Promise<Record<string, number>> {
  const heads: Record<string, number> = {}
  for (let before: string | undefined; ; ) {
    const page = await store.runs({ project, limit: RUNS_PER_PAGE, ...(before !== undefined && { before }) })
    for (const { run_id, head } of page) heads[run_id] = head
    before = page.at(-1)?.run_id
    if (page.length < RUNS_PER_PAGE) return heads
  }
}
