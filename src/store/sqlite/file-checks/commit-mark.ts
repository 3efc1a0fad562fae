import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { TroupeError } from '../../../errors.ts'
import { isRecord, parseJson } from '../../../schema/json-value.ts'
import type { Database } from '../node-sqlite.ts'

/*
 * Notices that the newest commits of a file are gone: they are in its write-ahead log until the file is closed, and a log that was deleted, or
 * not copied with the file, leaves an older state that looks sound. A run would then repeat its actions.
 * 1. While a process writes, the header of the file says that there is a log (WAL mode); the last one to close it merges the log and says that there is
 *    none. So a file is complete, or it shows that it is not.
 * 2. The mark, a small file beside it, names the last commit that was synced to disk. It is written after the commit, so that whatever it names
 *    has to be in the store, also after a power failure. A second line names one of the last commits that were not synced: it is in the store until
 *    the machine restarts, whatever happens to the process.
 * 3. It also names the log itself, by inode and time of creation: SQLite merges any log that lies beside a file, and a log that came with a
 *    repository replaces the whole content.
 * 4. Another program may merge the log of a killed process, and leave a header that still tells of one. Then the mark decides.
 */

/** A commit that has to be in the store: of an event, a command or the schema. */
export type CommitMark = { run_id: string; seq: number; hash: string | null } | { command: number } | { schema: number }

/** A line of the mark as stored. `log` is in the first one; `boot` in the second one, which counts only in that boot of the machine. */
type StoredMark = Partial<{
  run_id: string
  seq: number
  hash: string | null
  command: number
  schema: number
  boot: string
  log: string
}>

/** Where the second line begins, so that each can be overwritten alone. */
const UNSYNCED_OFFSET = 2048
/** The second line is written at most this often: a write costs as much as a tenth of a small commit. */
const UNSYNCED_MS = 20

export function markPath(path: string): string {
  return `${path}-mark`
}

/** The mark of a file that this process writes. */
export class MarkFile {
  readonly #path: string
  readonly #file: string
  #fd: number | undefined
  #log: string | undefined
  #unsyncedAt = Number.NEGATIVE_INFINITY
  /** The last commit that was not synced and is not named yet. */
  #unnamed: CommitMark | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(path: string) {
    this.#file = path
    this.#path = markPath(path)
  }

  /** Creates the file, unless there is one. Call it again once the log exists: until then another process may remove it. */
  create(): void {
    if (this.#fd !== undefined) {
      const stat = statSync(this.#path, { throwIfNoEntry: false })
      if (stat?.ino === fstatSync(this.#fd).ino) return
      this.close()
    }
    this.#fd = openSync(this.#path, 'a+', 0o600)
    closeSync(this.#fd)
    this.#fd = openSync(this.#path, 'r+')
  }

  /**
   * Call it after the commit. A mark that cannot be written, because the disk is full, is an older one: it must not make a commit look as if it
   * had failed.
   */
  write(mark: CommitMark, isSynced: boolean): void {
    this.#unnamed = isSynced ? undefined : mark
    if (isSynced) this.#put({ ...mark, log: this.#log }, 0)
    else if (performance.now() - this.#unsyncedAt >= UNSYNCED_MS) this.#nameUnsynced()
    else this.#timer ??= setTimeout(() => this.#nameUnsynced(), UNSYNCED_MS).unref()
  }

  #nameUnsynced(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (!this.#unnamed) return
    this.#unsyncedAt = performance.now()
    this.#put({ ...this.#unnamed, boot: bootId() }, UNSYNCED_OFFSET)
    this.#unnamed = undefined
  }

  /** Call it once this process has the log open: it is then the same until the file is closed. Keeps the commit that the mark names. */
  nameLog(): void {
    this.#log = logIdentity(`${this.#file}-wal`)
    const mark = readMarks(this.#file)?.synced
    if (mark?.log !== this.#log) this.#put({ ...mark, log: this.#log }, 0)
  }

  #put(mark: object, offset: number): void {
    if (this.#fd === undefined) return
    const line = `${JSON.stringify(mark)}\n`
    if (Buffer.byteLength(line) > UNSYNCED_OFFSET) return
    try {
      writeSync(this.#fd, line, offset)
    } catch {
      // The commit before it is still in the store.
    }
  }

  /** Call it before what the mark names is deleted. It is synced: after a power failure an older mark would name what is gone. */
  clear(): void {
    this.#unnamed = undefined
    if (this.#fd === undefined || fstatSync(this.#fd).size === 0) return
    writeSync(this.#fd, '{}\n', UNSYNCED_OFFSET)
    writeSync(this.#fd, `${JSON.stringify({ log: this.#log })}\n`, 0)
    fsyncSync(this.#fd)
  }

  /** Only for the last process that has the file open. */
  remove(): void {
    this.close()
    rmSync(this.#path, { force: true })
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

/** The files beside a database. SQLite creates an empty log when it opens one for reading. */
export interface LogTraces {
  hasLog: boolean
  /** `undefined` without a mark. */
  marks: Marks | undefined
}

interface Marks {
  synced: StoredMark
  unsynced: StoredMark
}

export function readLogTraces(path: string): LogTraces {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return { hasLog: (log?.size ?? 0) > 0, marks: readMarks(path) }
}

/** Inode and time of creation; `undefined` without a log. */
function logIdentity(log: string): string | undefined {
  const stat = statSync(log, { throwIfNoEntry: false, bigint: true })
  return stat && `${stat.ino}:${stat.birthtimeNs}`
}

/** Whether there is a log that no process here has written: it was put there, with whatever content. Whoever put it there cannot know its inode. `byInode` on a file system without times of creation. */
export function hasForeignLog(path: string, byInode = false): boolean {
  const { hasLog, marks } = readLogTraces(path)
  const [own, found] = [marks?.synced.log, logIdentity(`${path}-wal`)].map((log) =>
    byInode ? log?.split(':')[0] : log,
  )
  return hasLog && own !== found
}

/** A mark that cannot be read names no commit. */
function readMarks(path: string): Marks | undefined {
  try {
    const bytes = readStart(markPath(path))
    return { synced: parseMark(bytes, 0), unsynced: parseMark(bytes, UNSYNCED_OFFSET) }
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    return { synced: {}, unsynced: {} }
  }
}

function parseMark(bytes: Buffer, offset: number): StoredMark {
  const [line = ''] = bytes.toString('utf8', offset, offset + UNSYNCED_OFFSET).split('\n', 1)
  const mark = parseJson(line)
  return isRecord(mark) ? mark : {}
}

const MAX_MARK_BYTES = 2 * UNSYNCED_OFFSET

/** Bounded: a mark may be a link to a device without an end. */
function readStart(path: string): Buffer {
  const fd = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(MAX_MARK_BYTES)
    return buffer.subarray(0, readSync(fd, buffer, 0, MAX_MARK_BYTES, 0))
  } finally {
    closeSync(fd)
  }
}

/** Versions of Troupe that wrote older schemas wrote no marks, and left the header as it was when they closed the file. */
const FIRST_MARKED_SCHEMA = 5

/**
 * The error if the newest commits of a file are gone. Only for a file whose header says that there is a log: if it was closed, or is a copy by
 * `troupe backup`, a mark beside it is that of an earlier file. `traces` are those from before anything was read: the mark of a later commit would name
 * what was not there yet.
 */
export function lostCommitsError(db: Database, path: string, traces: LogTraces): TroupeError | undefined {
  const { hasLog, marks } = traces
  if (!marks)
    return hasLog || !lacksTraces(db, path)
      ? undefined
      : lostError(path, `its write-ahead log ${path}-wal was removed, emptied, or not copied with it`)
  const missing = missingCommit(db, marks.synced) ?? missingCommit(db, marks.unsynced)
  if (missing === undefined) return undefined
  const log = hasLog
    ? `${path}-wal was replaced or shortened`
    : `${path}-wal was removed, emptied, or not copied with it`
  return lostError(path, `${missing} is missing, which was committed; ${log}`)
}

/** Looks again, since another process may just have begun to write. Whoever turns the log on has created the mark before. */
function lacksTraces(db: Database, path: string): boolean {
  if (userVersion(db) < FIRST_MARKED_SCHEMA) return false
  const { hasLog, marks } = readLogTraces(path)
  return !hasLog && !marks
}

function userVersion(db: Database): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

function missingCommit(db: Database, { run_id, seq, hash, command, schema, boot }: StoredMark): string | undefined {
  if (boot !== undefined && boot !== bootId()) return undefined
  // Without the id of a boot, nothing can be said about commits that were not synced.
  if (boot === 'unknown') return undefined
  const version = userVersion(db)
  if (schema !== undefined) return version < schema ? `the schema (version ${schema})` : undefined
  if (run_id === undefined && command === undefined) return undefined
  if (version === 0) return 'everything'
  if (command !== undefined) {
    const newest = Number(db.prepare('SELECT coalesce(max(id), 0) AS id FROM commands').get()?.id)
    return newest < command ? `command ${command}` : undefined
  }
  const event = db
    .prepare('SELECT hash FROM events JOIN runs ON runs.id = events.run WHERE run_id = ? AND seq = ?')
    .get(String(run_id), Number(seq))
  return event && event.hash === hash ? undefined : `event ${seq} of run ${run_id}`
}

function lostError(path: string, problem: string): TroupeError {
  return new TroupeError('store_corrupt', `${path} lacks its newest commits: ${problem}`, {
    retry: false,
    hint: 'nothing is executed, because actions would be repeated: put the log back, or restore a backup; to go on with what is left: troupe verify --accept-loss',
  })
}

let knownBootId: string | undefined

function bootId(): string {
  knownBootId ??= readBootId()
  return knownBootId
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return 'unknown'
  }
}
