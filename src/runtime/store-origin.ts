import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { userConfigFolder } from '../formats/user-home.ts'
import type { ImportedRuns } from '../kernel/imported-runs.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Store } from '../store/store.ts'

/*
 * Which stores this installation has created: one file per store in `~/.config/troupe/stores`. A store that came with a repository, was copied
 * or restored is another file (inode and time of creation), whatever its content says.
 * 1. A store is recorded before its first run: a store with runs and without a record was made elsewhere.
 * 2. Of a store that was made elsewhere, the heads of its runs are recorded when this installation first executes runs in it.
 * 3. A log beside the file that nobody here has written replaces its content: from then on the store was made elsewhere.
 * 4. A record that cannot be read, or that others may write, counts as missing; one that cannot be written means to be asked again.
 */

interface OriginRecord {
  path: string
  /** Inode and time of creation. */
  file: string
  /** For a store that was made elsewhere: the last command and the head of each run, by project. Absent for an own store. */
  imported?: Record<string, { command: number; heads: Record<string, number> }>
}

/** Records that this installation has created the store. */
export async function recordOwnStore(path: string): Promise<void> {
  await writeRecord(path, undefined)
}

const LOG_CHECKS = 4
const LOG_CHECK_MS = 50

/** Call it before the store is opened, which merges the log. */
export async function disownStoreWithForeignLog(path: string): Promise<void> {
  const { hasForeignLog } = await import('../store/sqlite/commit-mark.ts')
  for (let check = 1; hasForeignLog(path); check++) {
    // Of a store without a record, the heads are yet to be recorded; those of an imported one are no longer the same.
    if (check === LOG_CHECKS) return rm(await recordPath(path), { force: true })
    // Another process may open or close the file at this moment.
    await sleep(LOG_CHECK_MS)
  }
}

/** The runs of a project that were recorded elsewhere; `undefined` if this installation has created the store. */
export async function findImportedRuns(
  store: Store,
  { path, project, limits }: { path: string; project: string; limits: Limits },
): Promise<ImportedRuns | undefined> {
  const known = await readRecord(path)
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
  const known = await readRecord(path)
  if (known && !known.imported) return undefined
  const found = { command, heads }
  await writeRecord(path, { ...known?.imported, [project]: found })
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

function recordsFolder(): string {
  return join(userConfigFolder(), 'stores')
}

async function recordPath(path: string): Promise<string> {
  const name = createHash('sha256')
    .update(await realpath(path))
    .digest('hex')
  return join(recordsFolder(), `${name.slice(0, 32)}.json`)
}

/** `undefined` for a store without a record, and for another file than the recorded one. */
async function readRecord(path: string): Promise<OriginRecord | undefined> {
  try {
    const file = await recordPath(path)
    const { uid, mode } = await stat(file)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return undefined
    const record = JSON.parse(await readFile(file, 'utf8')) as OriginRecord
    return record.file === (await fileIdentity(path)) ? record : undefined
  } catch {
    return undefined
  }
}

async function writeRecord(path: string, imported: OriginRecord['imported']): Promise<void> {
  try {
    const record: OriginRecord = {
      path: await realpath(path),
      file: await fileIdentity(path),
      ...(imported && { imported }),
    }
    await mkdir(recordsFolder(), { recursive: true, mode: 0o700 })
    await deleteOldRecords()
    const file = await recordPath(path)
    const temporary = `${file}.${process.pid}.${performance.now()}`
    await writeFile(temporary, JSON.stringify(record), { mode: 0o600 })
    await chmod(temporary, 0o600)
    await rename(temporary, file)
  } catch {
    // Without a record, people are asked again.
  }
}

async function fileIdentity(path: string): Promise<string> {
  const { ino, birthtimeNs } = await stat(path, { bigint: true })
  return `${ino}:${birthtimeNs}`
}

const MAX_RECORDS = 300

/** Deletes the records of stores that no longer exist, once there are many. */
async function deleteOldRecords(): Promise<void> {
  const names = await readdir(recordsFolder())
  if (names.length < MAX_RECORDS) return
  for (const name of names) {
    const file = join(recordsFolder(), name)
    const text = await readFile(file, 'utf8').catch(() => '{}')
    const path = parsePath(text)
    if (path === undefined || !existsSync(path)) await rm(file, { force: true })
  }
}

function parsePath(text: string): string | undefined {
  try {
    return (JSON.parse(text) as Partial<OriginRecord>).path
  } catch {
    return undefined
  }
}
