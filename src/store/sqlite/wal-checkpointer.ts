import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { CheckpointJob } from './checkpoint-worker.ts'
import type { SqliteConnection } from './connection.ts'

/*
 * Invariants
 * 1. Checkpoints run on a worker thread with its own connection: the main thread never copies the log into the file.
 * 2. At most one checkpoint is requested at a time. Its progress is read from shared memory, so that it is visible even
 *    if the program never yields to the event loop.
 * 3. Back-pressure: when writers outrun checkpoints, they wait for a bounded time. The log stays bounded unless a
 *    long-running reader prevents a restart; then it grows instead of blocking the work.
 * 4. The worker does not keep the process alive, and its failure fails no write.
 */

/** Pages that a commit writes in addition to its data: run, session, event, their indexes. */
const PAGES_PER_COMMIT = 6
const CLOSE_MS = 5000

export interface CheckpointLimits {
  /** Request a checkpoint after about this many bytes. */
  begin_bytes: number
  /** Block writers for a moment so that the log restarts. */
  restart_bytes: number
  /** Make writers wait until the checkpoint has caught up. */
  wait_bytes: number
  /** The longest wait. */
  wait_ms: number
}

const MB = 1024 * 1024
export const DEFAULT_CHECKPOINT_LIMITS: CheckpointLimits = {
  begin_bytes: 8 * MB,
  restart_bytes: 16 * MB,
  wait_bytes: 24 * MB,
  wait_ms: 2000,
}

export class WalCheckpointer {
  readonly #connection: SqliteConnection
  readonly #limits: CheckpointLimits
  readonly #pageBytes: number
  readonly #counters = new Int32Array(new SharedArrayBuffer(12))
  #worker: Worker | undefined
  #exited: Promise<void> = Promise.resolve()
  #failed = false
  /** Bytes in the log before writers wait. Grows when waiting did not help. */
  #waitThreshold: number
  #written = 0
  #atRequest = 0
  #requested = 0
  #completed = 0

  constructor(connection: SqliteConnection, limits: CheckpointLimits) {
    this.#connection = connection
    this.#limits = limits
    this.#pageBytes = Number(connection.db.prepare('PRAGMA page_size').get()?.page_size)
    this.#waitThreshold = limits.wait_bytes
  }

  /** True if writers should wait for a checkpoint. */
  get isBehind(): boolean {
    return this.#written > this.#waitThreshold && !this.#failed && this.#update() > this.#waitThreshold
  }

  /** Counts a commit of about this many bytes. */
  recordWrite(bytes: number): void {
    this.#written += bytes + PAGES_PER_COMMIT * this.#pageBytes
    if (this.#written - this.#atRequest <= this.#limits.begin_bytes) return
    this.#update()
    this.#request()
  }

  /** Waits until the log is short again, at most `wait_ms`. */
  async waitUntilCaughtUp(): Promise<void> {
    for (let waited = 0; waited < this.#limits.wait_ms && this.isBehind; waited += 2) {
      this.#request()
      await sleep(2)
    }
    if (this.isBehind) this.#waitThreshold = this.#written * 2
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#failed = true
    if (!worker) return
    worker.ref()
    worker.postMessage('close')
    AbortSignal.timeout(CLOSE_MS).addEventListener('abort', () => void worker.terminate())
    await this.#exited
  }

  /** Applies the result of a completed checkpoint. Returns the bytes in the log. */
  #update(): number {
    const completed = Atomics.load(this.#counters, 1)
    if (completed === this.#completed) return this.#written
    this.#completed = completed
    const remaining = Atomics.load(this.#counters, 2) * this.#pageBytes
    this.#written = remaining + (this.#written - this.#atRequest)
    this.#atRequest = remaining
    if (remaining === 0) this.#waitThreshold = this.#limits.wait_bytes
    return this.#written
  }

  #request(): void {
    if (this.#failed || this.#requested !== this.#completed) return
    this.#worker ??= this.#start()
    this.#atRequest = this.#written
    this.#requested += 1
    Atomics.store(this.#counters, 0, this.#requested)
    this.#worker?.postMessage('checkpoint')
  }

  #start(): Worker | undefined {
    const moduleUrl = import.meta.url
    const job: CheckpointJob = {
      path: this.#connection.path,
      counters: this.#counters,
      restart_frames: Math.floor(this.#limits.restart_bytes / this.#pageBytes),
    }
    try {
      const file = moduleUrl.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js'
      const worker = new Worker(new URL(file, moduleUrl), { workerData: job, execArgv: [], name: 'troupe-checkpoint' })
      this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()))
      worker.unref()
      worker.on('error', () => this.#fallBack())
      return worker
    } catch {
      this.#fallBack()
      return undefined
    }
  }

  /** Lets SQLite checkpoint on this thread: without a worker the log would grow until the disk is full. */
  #fallBack(): void {
    if (this.#failed) return
    this.#failed = true
    this.#worker = undefined
    try {
      this.#connection.db.exec('PRAGMA wal_autocheckpoint = 500')
    } catch {
      // The store is being closed.
    }
  }
}
