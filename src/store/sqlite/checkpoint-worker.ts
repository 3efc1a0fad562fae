import { workerData } from 'node:worker_threads'
import { parentPort } from 'node:worker_threads'
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
 * Copies the log into the file while others write. When everything is copied the next writer begins the log anew by
 * itself; under a load that never pauses that moment does not come, and the log would grow without end.
 */
function checkpoint(db: Database, restart_frames: number): number {
  let progress: Progress | undefined
  for (let round = 0; round < ROUNDS; round++) {
    progress = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as unknown as Progress
    if (progress.log === progress.checkpointed) return 0
  }
  if (!progress || progress.log < restart_frames) return progress?.log ?? 0
  const restarted = db.prepare('PRAGMA wal_checkpoint(RESTART)').get() as unknown as Progress
  return restarted.busy === 0 ? 0 : restarted.log
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
    parentPort?.postMessage('done')
  })
}

serve(workerData as CheckpointWork)
