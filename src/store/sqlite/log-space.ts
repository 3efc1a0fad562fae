import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'

/*
 * Keeps the blocks of the write-ahead log allocated ahead of its content. A sync of a file that grows also waits for the journal of the file
 * system, and takes twice as long or more (ext4, XFS).
 * 1. Space is added behind the end of the file, inside a transaction: the write lock keeps other processes from appending there meanwhile.
 * 2. It consists of zeros, which no reader takes for content: SQLite reads a log up to the first frame without a valid checksum. A hole
 *    (`ftruncate`) would not help, since its blocks are allocated when they are written.
 * 3. The log at most doubles each time, so that a process that writes little adds little.
 * 4. The length of the file is read only when it has grown: Linux gives a file whose times somebody has read new ones with each write, which the
 *    next sync has to store.
 * 5. Whatever fails here, the transaction goes on: SQLite extends the log by itself.
 */

const MIN_BYTES = 256 * 1024
/** The most that one transaction adds, and syncs. */
const MAX_ADDED_BYTES = 1024 * 1024
/** Checkpoints restart the log before it is this long. */
const MAX_BYTES = 16 * 1024 * 1024
const TAIL_BYTES = 64
/** A link in place of the log would let a repository choose the file that is extended (symlink attack). Reading must not change the times of the file. */
const OPEN_FLAGS = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NOATIME ?? 0)

export class LogSpace {
  readonly #path: string
  #fd: number | undefined
  /** The length of the file at the last look. */
  #length: number | undefined
  #isUnusable = false
  readonly #byte = Buffer.alloc(1)

  constructor(path: string) {
    this.#path = `${path}-wal`
  }

  /** Adds space if the log has grown since the last call. Call it in each transaction that is synced. */
  reserve(): void {
    if (this.#isUnusable) return
    try {
      this.#fd ??= openSync(this.#path, OPEN_FLAGS)
      const known = this.#length
      if (known !== undefined && readSync(this.#fd, this.#byte, 0, 1, known) === 0) return
      const { size } = fstatSync(this.#fd)
      this.#length = size
      if (known === undefined || size < MIN_BYTES || size >= MAX_BYTES || endsWithSpace(this.#fd, size)) return
      const space = Buffer.alloc(Math.min(size, MAX_ADDED_BYTES))
      this.#length += writeSync(this.#fd, space, 0, space.length, size)
    } catch (thrown) {
      // Without space on the disk, later calls try again.
      this.#isUnusable = this.#fd === undefined && (thrown as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

/** Whether another process has added space. A page that ends with zeros looks the same, and delays the next addition. */
function endsWithSpace(fd: number, size: number): boolean {
  const tail = Buffer.alloc(TAIL_BYTES)
  readSync(fd, tail, 0, TAIL_BYTES, size - TAIL_BYTES)
  return tail.every((byte) => byte === 0)
}
