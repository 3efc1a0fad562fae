import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'

/** What the thread that writes and the thread that checkpoints share. */
export interface CheckpointJob {
  path: string
  /** [checkpoints asked for, checkpoints done, frames left in the log by the last one] */
  counters: Int32Array
  /** From this many frames on, writers are held up for a moment so that the log can begin anew. */
  restart_frames: number
}

interface CheckpointProgress {
  busy: number
  log: number
  checkpointed: number
}

const ROUNDS = 3
/** A restart holds the writers' lock while it waits for readers: this is how long one may hold everybody up. */
const RESTART_MS = 25

/** Copies the log into the file while others write. */
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
   * Returns how many frames the log still holds. Once nobody has added to what was copied, the next writer begins the
   * log anew by itself; under a load that never pauses that moment does not come, and the log would grow without end.
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

  /** While a reader stays, restarts are in vain and hold writers up: they are tried ever more rarely. */
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

function serve(work: CheckpointJob): void {
  const copier = new WalCopier(work)
  parentPort?.on('message', (message: 'checkpoint' | 'close') => {
    if (message === 'close') {
      copier.close()
      parentPort?.close()
      return
    }
    const asked = Atomics.load(work.counters, 0)
    try {
      Atomics.store(work.counters, 2, copier.copy())
    } catch {
      // A full disk or a lock held elsewhere: the log keeps everything, and the next request tries again.
    }
    Atomics.store(work.counters, 1, asked)
  })
}

serve(workerData as CheckpointJob)
