import { createHash } from 'node:crypto'
import {
  chmodSync,
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
import { userConfigFolder } from './user-home.ts'

/*
 * Which stores this installation has created, or its user trusts: one file per store in `~/.config/troupe/stores`. A store that came with a repository,
 * was copied or restored is another file (inode and time of creation), whatever its content says. A record that cannot be read, or that others may
 * write, counts as missing.
 */

interface StoreRecord {
  path: string
  /** Inode and time of creation. */
  file: string
}

/** True if this installation has created the store, or its user trusts it. */
export function isOwnStore(path: string): boolean {
  try {
    const file = recordPath(path)
    const { uid, mode } = statSync(file)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return false
    const record = JSON.parse(readFileSync(file, 'utf8')) as Partial<StoreRecord>
    // Earlier versions also recorded stores that were made elsewhere.
    return !('imported' in record) && record.file === fileIdentity(path)
  } catch {
    return false
  }
}

/** Throws if the record cannot be written. */
export function recordOwnStore(path: string): void {
  const record: StoreRecord = { path: realpathSync(path), file: fileIdentity(path) }
  mkdirSync(recordsFolder(), { recursive: true, mode: 0o700 })
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

function recordsFolder(): string {
  return join(userConfigFolder(), 'stores')
}

function recordPath(path: string): string {
  const name = createHash('sha256').update(realpathSync(path)).digest('hex')
  return join(recordsFolder(), `${name.slice(0, 32)}.json`)
}

function fileIdentity(path: string): string {
  const { ino, birthtimeNs } = statSync(path, { bigint: true })
  return `${ino}:${birthtimeNs}`
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
