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
  const gone = new AbortController()
  const ended = AbortSignal.any([signal, gone.signal])
  let cursor = after
  let wake: (() => void) | undefined
  const stop = watcher.watchRun(run_id, (row) => {
    if (!row) gone.abort()
    wake?.()
  })
  ended.addEventListener('abort', () => wake?.(), { once: true })
  try {
    while (!ended.aborted) {
      for await (const event of troupe.watch(run_id, { after: cursor, signal: ended })) {
        cursor = event.seq
        yield event
      }
      if (ended.aborted) break
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      // After the wait has begun: a change in between must not be missed.
      const row = await watcher.readRun(run_id)
      if (!row) gone.abort()
      else if (row.head <= cursor) await woken
    }
    return signal.aborted ? 'left' : 'gone'
  } catch (thrown) {
    if ((await watcher.readRun(run_id)) === undefined) return 'gone'
    throw thrown
  } finally {
    stop()
  }
}
