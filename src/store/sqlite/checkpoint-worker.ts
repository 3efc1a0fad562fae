import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'

/** What the thread that writes and the thread that checkpoints share. */
export interface CheckpointWork {
  path: string
  /** [checkpoints asked for, checkpoints done, frames left in the log by the last one] */
  counters: Int32Array
  /** From this many frames on, writers are held up for a moment so that the log can begin anew. */
  restart_frames: number
}

interface Progress {
  busy: number
  log: number
  checkpointed: number
}

const ROUNDS = 3

/**
 * Copies the log into the file while others write; returns how many frames the log still holds. Once nobody has added
 * to what was copied, the next writer begins the log anew by itself; under a load that never pauses that moment does
 * not come, and the log would grow without end.
 */
function checkpoint(db: Database, restart_frames: number): number {
  let before = -1
  for (let round = 0; round < ROUNDS; round++) {
    const { log, checkpointed } = run(db, 'PASSIVE')
    if (log === before && log === checkpointed) return 0
    before = log
  }
  if (before < restart_frames) return before
  const { busy, log } = run(db, 'RESTART')
  return busy === 0 ? 0 : log
}

function run(db: Database, mode: 'PASSIVE' | 'RESTART'): Progress {
  return db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() as unknown as Progress
}

function serve({ path, counters, restart_frames }: CheckpointWork): void {
  const db = openDatabase(path, { timeout: 100 })
  db.exec('PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON')
  parentPort?.on('message', (message: 'checkpoint' | 'close') => {
    if (message === 'close') {
      db.close()
      parentPort?.close()
      return
    }
    const asked = Atomics.load(counters, 0)
    try {
      Atomics.store(counters, 2, checkpoint(db, restart_frames))
    } catch {
      // A full disk or a lock held elsewhere: the log keeps everything, and the next request tries again.
    }
    Atomics.store(counters, 1, asked)
  })
}

serve(workerData as CheckpointWork)
