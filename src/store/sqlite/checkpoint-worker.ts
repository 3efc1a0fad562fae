import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'

/** Shared by the writing thread and the checkpoint thread. */
export interface CheckpointJob {
  path: string
  /** [checkpoints requested, checkpoints completed, frames left in the log by the last one] */
  counters: Int32Array
  /** From this many frames on, a checkpoint blocks writers for a moment so that the log restarts. */
  restart_frames: number
}

interface CheckpointProgress {
  busy: number
  log: number
  checkpointed: number
}

const ROUNDS = 3
/** A RESTART checkpoint holds the write lock while it waits for readers: the timeout bounds how long writers block. */
const RESTART_MS = 25

/** Copies the write-ahead log into the database file while other connections write. */
class WalCopier {
  readonly #db: Database
  readonly #restart_frames: number
  #restart_at: number

  constructor({ path, restart_frames }: CheckpointJob) {
    this.#db = openDatabase(path, { timeout: RESTART_MS })
    this.#db.exec('PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON')
    this.#restart_frames = restart_frames
    this.#restart_at = restart_frames
  }

  /**
   * Returns the number of frames left in the log. Once all frames are copied, the next writer restarts the log by itself.
   * Under constant load that moment never comes and the log would grow without bound: then a RESTART is needed.
   */
  copy(): number {
    let before = -1
    for (let round = 0; round < ROUNDS; round++) {
      const { log, checkpointed } = this.#run('PASSIVE')
      if (log === before && log === checkpointed) return 0
      before = log
    }
    return before < this.#restart_at ? before : this.#restart()
  }

  /** A long-running reader makes a restart fail and block writers, so the threshold doubles after each failure. */
  #restart(): number {
    const { busy, log } = this.#run('RESTART')
    this.#restart_at = busy === 0 ? this.#restart_frames : log * 2
    return busy === 0 ? 0 : log
  }

  #run(mode: 'PASSIVE' | 'RESTART'): CheckpointProgress {
    return this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() as unknown as CheckpointProgress
  }

  close(): void {
    this.#db.close()
  }
}

function serve(job: CheckpointJob): void {
  const copier = new WalCopier(job)
  parentPort?.on('message', (message: 'checkpoint' | 'close') => {
    if (message === 'close') {
      copier.close()
      parentPort?.close()
      return
    }
    const requested = Atomics.load(job.counters, 0)
    try {
      Atomics.store(job.counters, 2, copier.copy())
    } catch {
      // A full disk or a foreign lock: the log keeps everything, and the next request retries.
    }
    Atomics.store(job.counters, 1, requested)
  })
}

serve(workerData as CheckpointJob)
