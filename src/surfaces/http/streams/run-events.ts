import { TroupeError } from '../../../errors.ts'
import type { Event, Troupe } from '../../../index.ts'
import type { StoreWatcher } from './store-watcher.ts'

export type RunSource = Pick<Troupe, 'watch'>

export interface ReadOptions {
  after: number
  signal: AbortSignal
}

/**
 * Yields the events of a run as `troupe.watch` does, and also after its end: a run that has ended can be resumed. Returns `gone` when
 * the run was deleted.
 */
export async function* followEvents(
  { troupe, watcher }: { troupe: RunSource; watcher: StoreWatcher },
  run_id: string,
  { after, signal }: ReadOptions,
): AsyncGenerator<Event, 'gone' | 'left'> {
  let cursor = after
  let wake: (() => void) | undefined
  const stop = watcher.watchRun(run_id, (row) => {
    if (!row || row.head > cursor) wake?.()
  })
  signal.addEventListener('abort', () => wake?.(), { once: true })
  try {
    while (!signal.aborted) {
      for await (const event of troupe.watch(run_id, { after: cursor, signal })) {
        cursor = event.seq
        yield event
      }
      if (signal.aborted) break
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      // After the wait has begun: a change in between must not be missed.
      const row = await watcher.readRun(run_id)
      if (!row) return 'gone'
      if (row.head <= cursor) await woken
    }
    return 'left'
  } catch (thrown) {
    if (thrown instanceof TroupeError && thrown.code === 'unknown_run') return 'gone'
    throw thrown
  } finally {
    stop()
  }
}
