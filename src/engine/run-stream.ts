import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import type { Store } from '../store/store.ts'
import type { Engine, StreamItem } from './engine.ts'

/*
 * Streaming of a run that this process executes. There is no back-pressure on the run: a slow reader has a bounded queue, and
 * when it overflows, text deltas are dropped and events are read again from the store.
 */

const MAX_QUEUED = 4096

/** Yields the events of a run from the first one on, and its text deltas, until `done` settles and all events are read. */
export async function* streamRun(
  { engine, store }: { engine: Engine; store: Store },
  run_id: string,
  done: Promise<unknown>,
): AsyncGenerator<StreamItem, void> {
  const queue = new StreamQueue()
  const unsubscribe = engine.subscribe((item) => {
    if (itemRunId(item) === run_id) queue.push(item)
  })
  const finish = () => queue.finish()
  done.then(finish, finish)
  let cursor = 0
  try {
    for (;;) {
      const isLast = queue.isFinished
      if (queue.isBehind || isLast) {
        queue.reset()
        for (const event of await readEventsAfter(store, run_id, cursor)) {
          cursor = event.seq
          yield { event }
        }
      }
      for (let item = queue.shift(); item; item = queue.shift()) {
        if ('event' in item) {
          if (item.event.seq <= cursor) continue
          cursor = item.event.seq
        }
        yield item
      }
      if (isLast) return
      await queue.changed.promise
      queue.changed = Promise.withResolvers<void>()
    }
  } finally {
    unsubscribe()
  }
}

/** Items that the reader has not taken yet. While it is behind, items are dropped: the reader goes to the store. */
class StreamQueue {
  #items: StreamItem[] = []
  /** Resolved by the next change. */
  changed = Promise.withResolvers<void>()
  isBehind = true
  isFinished = false

  push(item: StreamItem): void {
    if (this.#items.length >= MAX_QUEUED) {
      this.#items = []
      this.isBehind = true
    }
    if (!this.isBehind) this.#items.push(item)
    this.changed.resolve()
  }

  finish(): void {
    this.isFinished = true
    this.changed.resolve()
  }

  shift(): StreamItem | undefined {
    return this.#items.shift()
  }

  /** Begins to queue again, just before the reader reads from the store. */
  reset(): void {
    this.isBehind = false
    this.#items = []
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

function itemRunId(item: StreamItem): string {
  return 'event' in item ? item.event.run_id : item.delta.run_id
}
