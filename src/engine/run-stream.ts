import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import type { Store } from '../store/store.ts'
import type { Engine, StreamItem } from './engine.ts'

/*
 * Watching a run that this process executes. A slow reader never slows the run and never holds more than a bounded
 * queue: when it falls behind, words are dropped and events are read again from the store.
 */

const MAX_QUEUED = 4096

/** Signals of one run from `after` on, until `done` settles and all is told. */
export async function* streamRun(
  from: { engine: Engine; store: Store },
  run_id: string,
  done: Promise<unknown>,
): AsyncGenerator<StreamItem, void> {
  let queue: StreamItem[] = []
  let behind = true
  let over = false
  let wake = Promise.withResolvers<void>()
  const unwatch = from.engine.subscribe((signal) => {
    if (itemRunId(signal) !== run_id) return
    if (queue.length >= MAX_QUEUED) {
      queue = []
      behind = true
    }
    if (!behind) queue.push(signal)
    wake.resolve()
  })
  const finish = () => {
    over = true
    wake.resolve()
  }
  done.then(finish, finish)
  let cursor = 0
  try {
    for (;;) {
      const last = over
      if (behind || last) {
        behind = false
        queue = []
        for (const event of await readEventsAfter(from.store, run_id, cursor)) {
          cursor = event.seq
          yield { event }
        }
      }
      for (let signal = queue.shift(); signal; signal = queue.shift()) {
        if ('event' in signal) {
          if (signal.event.seq <= cursor) continue
          cursor = signal.event.seq
        }
        yield signal
      }
      if (last) return
      await wake.promise
      wake = Promise.withResolvers<void>()
    }
  } finally {
    unwatch()
  }
}

async function readEventsAfter(store: Store, run_id: string, cursor: number): Promise<Event[]> {
  try {
    return await store.events(run_id, { after: cursor })
  } catch (thrown) {
    if (thrown instanceof TroupeError && thrown.code === 'unknown_run') return []
    throw thrown
  }
}

function itemRunId(signal: StreamItem): string {
  return 'event' in signal ? signal.event.run_id : signal.delta.run_id
}
