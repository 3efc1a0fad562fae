import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../kernel/hash.ts'
import { userConfigFolder } from './user-home.ts'

/*
 * Which stores this installation has created, or its user trusts: one file per store in `~/.config/troupe/stores`. A store that came with a repository,
 * was copied or restored is another file (inode and time of creation), whatever its content says. A record that cannot be read, or that others may
 * write, counts as missing.
 */

interface StoreRecord {
  path: string
  /** Inode and time of creation; inode and device on a file system that has no such time. */
  file: string
}

/** Tests replace `fs.stat` with it: without times of creation, some file systems return the time of the last change in their place. */
const statFile = (path: string) => statSync(path, { bigint: true })

/** True if this installation has created the store, or its user trusts it. */
export function isOwnStore(path: string, stat = statFile): boolean {
  const file = recordedFile(path)
  return file !== undefined && fileIdentities(stat(path)).includes(file)
}

/** True if the store lies on a file system without times of creation. */
export function isRecordedByInode(path: string): boolean {
  return recordedFile(path)?.includes('@') ?? false
}

function recordedFile(path: string): string | undefined {
  try {
    const file = recordPath(path)
    const { uid, mode } = statSync(file)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return undefined
    const record = JSON.parse(readFileSync(file, 'utf8')) as Partial<StoreRecord>
    // Earlier versions also recorded stores that were made elsewhere.
    return 'imported' in record ? undefined : record.file
  } catch {
    return undefined
  }
}

/** Throws if the record cannot be written. */
export function recordOwnStore(path: string, stat = statFile): void {
  const record: StoreRecord = { path: realpathSync(path), file: lastingIdentity(path, stat) }
  createRecordsFolder()
  deleteOldRecords()
  const file = recordPath(path)
  const temporary = `${file}.${process.pid}.${performance.now()}`
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
}

export function deleteStoreRecord(path: string): void {
  rmSync(recordPath(path), { force: true })
}

/** Throws if records cannot be written. */
export function createRecordsFolder(): void {
  mkdirSync(recordsFolder(), { recursive: true, mode: 0o700 })
  accessSync(recordsFolder(), constants.W_OK)
}

function recordsFolder(): string {
  return join(userConfigFolder(), 'stores')
}

function recordPath(path: string): string {
  return join(recordsFolder(), `${sha256(realpathSync(path)).slice(0, 32)}.json`)
}

/** Longer than the clock of a file system takes to advance. */
const CLOCK_MS = 20

/** Changes the file, by setting the mode that it has, until its time of change moves: a time of creation stays. */
function lastingIdentity(path: string, stat: typeof statFile): string {
  const before = stat(path)
  const end = performance.now() + CLOCK_MS
  while (stat(path).ctimeNs === before.ctimeNs && performance.now() < end)
    chmodSync(path, Number(before.mode & 0o7777n))
  const [byBirth, byInode] = fileIdentities(before)
  return stat(path).birthtimeNs === before.birthtimeNs ? byBirth : byInode
}

function fileIdentities({ ino, dev, birthtimeNs }: ReturnType<typeof statFile>): [byBirth: string, byInode: string] {
  return [`${ino}:${birthtimeNs}`, `${ino}@${dev}`]
}

const MAX_RECORDS = 300

/** Deletes the records of stores that no longer exist, once there are many. */
function deleteOldRecords(): void {
  const names = readdirSync(recordsFolder())
  if (names.length < MAX_RECORDS) return
  for (const name of names) {
    const file = join(recordsFolder(), name)
    const path = recordedPath(file)
    if (path === undefined || !existsSync(path)) rmSync(file, { force: true })
  }
}

function recordedPath(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as Partial<StoreRecord>).path
  } catch {
    return undefined
  }
}
