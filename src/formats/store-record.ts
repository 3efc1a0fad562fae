import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { userConfigFolder } from './user-home.ts'

/*
 * Which stores this installation has created or used: one file per store in `~/.config/troupe/stores`. A store that came with a repository, was copied
 * or restored is another file (inode and time of creation), whatever its content says. A record that cannot be read, or that others may write, counts
 * as missing; one that cannot be written means to be asked again.
 */

/** Pairs, since a run of a forged store can have any id, also `__proto__`. */
export interface ImportedHeads {
  command: number
  heads: (readonly [run_id: string, head: number])[]
}

export interface StoreRecord {
  path: string
  /** Inode and time of creation. */
  file: string
  /** For a store that was made elsewhere: the last command and the head of each run. Absent for an own store. */
  imported?: ImportedHeads
}

/** True if this installation has created the store. */
export async function isOwnStore(path: string): Promise<boolean> {
  const record = await readStoreRecord(path)
  return record !== undefined && record.imported === undefined
}

export async function deleteStoreRecord(path: string): Promise<void> {
  await rm(await recordPath(path), { force: true })
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
export async function readStoreRecord(path: string): Promise<StoreRecord | undefined> {
  try {
    const file = await recordPath(path)
    const { uid, mode } = await stat(file)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return undefined
    const record = JSON.parse(await readFile(file, 'utf8')) as StoreRecord
    // Earlier versions recorded heads in another form.
    if (record.imported && !Array.isArray(record.imported.heads)) return undefined
    return record.file === (await fileIdentity(path)) ? record : undefined
  } catch {
    return undefined
  }
}

export async function writeStoreRecord(path: string, imported?: ImportedHeads): Promise<void> {
  try {
    const record: StoreRecord = {
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
    return (JSON.parse(text) as Partial<StoreRecord>).path
  } catch {
    return undefined
  }
}
