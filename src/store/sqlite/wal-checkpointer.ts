import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { CheckpointJob } from './checkpoint-worker.ts'
import type { SqliteConnection } from './connection.ts'

/*
 * Invariants
 * 1. The thread that runs agents never copies the log into the file: another thread does, with its own connection.
 * 2. At most one checkpoint is asked for at a time. Its progress is read from shared memory, so a program that never
 *    lets the event loop turn still sees it.
 * 3. When writers are faster than checkpoints they wait, for a bounded time: the log stays bounded unless a reader
 *    elsewhere keeps it from being begun anew, and then it grows rather than the work stop.
 * 4. The thread keeps no process alive and its failure fails no write.
 */

const PAGE_BYTES = 8192
/** Pages that a commit touches beside its data: run, event, index; a few more when sessions or gates change. */
const PAGES_PER_COMMIT = 4
const CLOSE_MS = 5000

export interface CheckpointLimits {
  /** Begin to checkpoint when about this much was written. */
  begin_bytes: number
  /** Hold writers up for a moment so that the log can begin anew. */
  restart_bytes: number
  /** Let writers wait until the checkpoint has caught up. */
  wait_bytes: number
  /** But not longer than this. */
  wait_ms: number
}

const MB = 1024 * 1024
export const DEFAULT_CHECKPOINT_LIMITS: CheckpointLimits = {
  begin_bytes: 4 * MB,
  restart_bytes: 8 * MB,
  wait_bytes: 20 * MB,
  wait_ms: 2000,
}

export class WalCheckpointer {
  readonly #connection: SqliteConnection
  readonly #limits: CheckpointLimits
  readonly #counters = new Int32Array(new SharedArrayBuffer(12))
  #worker: Worker | undefined
  #exited: Promise<void> = Promise.resolve()
  #failed = false
  /** How much may be written before writers wait; more, the longer waiting was in vain. */
  #waitThreshold: number
  #written = 0
  #atRequest = 0
  #requested = 0
  #completed = 0

  constructor(connection: SqliteConnection, limits: CheckpointLimits) {
    this.#connection = connection
    this.#limits = limits
    this.#waitThreshold = limits.wait_bytes
  }

  /** True when writers should wait for the log to become shorter. */
  get isBehind(): boolean {
    return this.#written > this.#waitThreshold && !this.#failed && this.#update() > this.#waitThreshold
  }

  /** A commit has added about this much data to the log. */
  recordWrite(bytes: number): void {
    this.#written += bytes + PAGES_PER_COMMIT * PAGE_BYTES
    if (this.#written - this.#atRequest <= this.#limits.begin_bytes) return
    this.#update()
    this.#request()
  }

  /** Waits until the log is short again, or until waiting any longer would do more harm than a long log. */
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

  /** Takes note of a finished checkpoint; returns what the log holds since the last one that emptied it. */
  #update(): number {
    const done = Atomics.load(this.#counters, 1)
    if (done === this.#completed) return this.#written
    this.#completed = done
    const left = Atomics.load(this.#counters, 2) * PAGE_BYTES
    this.#written = left + (this.#written - this.#atRequest)
    this.#atRequest = left
    if (left === 0) this.#waitThreshold = this.#limits.wait_bytes
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
    const own = import.meta.url
    const work: CheckpointJob = {
      path: this.#connection.path,
      counters: this.#counters,
      restart_frames: Math.floor(this.#limits.restart_bytes / PAGE_BYTES),
    }
    try {
      const file = own.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js'
      const worker = new Worker(new URL(file, own), { workerData: work, execArgv: [], name: 'troupe-checkpoint' })
      this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()))
      worker.unref()
      worker.on('error', () => this.#fallBack())
      return worker
    } catch {
      this.#fallBack()
      return undefined
    }
  }

  /** Without a thread the log would grow until the disk is full: then SQLite checkpoints by itself, on this thread. */
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
