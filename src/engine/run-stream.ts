import type { Event } from '../kernel/event.ts'
import type { Delta } from '../kernel/ports.ts'
import type { RunRow } from '../store/store.ts'
import type { Engine, EngineItem } from './engine.ts'
import type { RunTail, RunTails } from './run-tail.ts'

/*
 * Watching a run. There is no back-pressure on the run: a watcher has a cursor into the journal and reads at its own pace;
 * text deltas wait in a bounded queue, and when it overflows they are dropped.
 */

const MAX_QUEUED_DELTAS = 4096

export interface WatchOptions {
  /** Yields events with a greater seq. Default: 0, all events. */
  after?: number
  /** Aborting it ends the iteration without an error. */
  signal?: AbortSignal
}

/** Yields committed events of a run, whichever process executes it, until the run has ended. */
export async function* watchEvents(
  tails: RunTails,
  row: RunRow,
  { after = 0, signal }: WatchOptions,
): AsyncGenerator<Event, void> {
  const wakeUp = new WakeUp()
  const { tail, leave } = tails.open(row.run_id, wakeUp.ring)
  signal?.addEventListener('abort', wakeUp.ring, { once: true })
  const isOver = () => tails.isClosed || signal?.aborted === true
  let cursor = after
  let hasEnded = row.ended_at !== null && cursor >= row.head
  try {
    while (!isOver()) {
      const events = await readEvents(tail, cursor, () => hasEnded)
      for (const event of events) {
        if (isOver()) return
        cursor = event.seq
        hasEnded = event.type === 'run:end'
        yield event
      }
      if (events.length > 0) continue
      if (hasEnded) return
      await waitAlive(wakeUp)
    }
  } finally {
    signal?.removeEventListener('abort', wakeUp.ring)
    leave()
  }
}

/** Items that are due while no event comes. */
export interface Notices<Item> {
  onEvent(event: Event): void
  /** The items that are due now. */
  take(): Promise<readonly Item[]>
  close(): void
}

export interface StreamDeps<Notice> {
  engine: Engine
  tails: RunTails
  /** Reads the seq of the last event. */
  readHead(run_id: string): Promise<number>
  /** `ring` tells that a notice is due. */
  openNotices?(ring: () => void): Notices<Notice>
}

/** Yields the events of a run from the first one on, its text deltas and notices, until `done` settles and all events are read. */
export async function* streamRun<Notice = never>(
  { engine, tails, readHead, openNotices }: StreamDeps<Notice>,
  run_id: string,
  done: Promise<unknown>,
): AsyncGenerator<EngineItem | Notice, void> {
  const wakeUp = new WakeUp()
  const notices = openNotices?.(wakeUp.ring)
  const { tail, leave } = tails.open(run_id, wakeUp.ring)
  let isDone = false
  const finish = () => {
    isDone = true
    wakeUp.ring()
  }
  done.then(finish, finish)
  const deltas = new DeltaQueue()
  let unsubscribe: (() => void) | undefined
  let cursor = 0
  const readNext = () => readEvents(tail, cursor, () => isDone && cursor > 0 && cursor >= tail.head)
  try {
    // Before the first delta: its place in the stream is after the events committed by then.
    const head = await readHead(run_id)
    tail.head = Math.max(tail.head, head)
    unsubscribe = engine.subscribe((item) => {
      if (!('delta' in item) || item.delta.run_id !== run_id) return
      deltas.push({ ...item.delta }, tail.head)
      wakeUp.ring()
    })
    for (;;) {
      const isLast = isDone || tails.isClosed
      for (let events = await readNext(); events.length > 0; events = await readNext()) {
        for (const event of events) {
          yield* deltas.takeBefore(event.seq)
          cursor = event.seq
          notices?.onEvent(event)
          yield { event }
        }
      }
      yield* deltas.takeBefore(isLast ? Number.POSITIVE_INFINITY : cursor + 1)
      if (isLast) return
      if (notices) yield* await notices.take()
      await wakeUp.wait()
    }
  } finally {
    notices?.close()
    unsubscribe?.()
    leave()
  }
}

/** Reads on. Who has had all events of a run that was deleted since, perhaps by that reader, gets none instead of an error. */
async function readEvents(tail: RunTail, cursor: number, isComplete: () => boolean): Promise<readonly Event[]> {
  try {
    return await tail.eventsAfter(cursor)
  } catch (thrown) {
    if (tail.isDeleted && isComplete()) return []
    throw thrown
  }
}

const KEEP_ALIVE_MS = 60_000

/** Keeps the process alive while it waits for another one: the timers of a store do not. */
async function waitAlive(wakeUp: WakeUp): Promise<void> {
  const timer = setInterval(() => {}, KEEP_ALIVE_MS)
  try {
    await wakeUp.wait()
  } finally {
    clearInterval(timer)
  }
}

/** Wakes one waiting loop. A ring before the wait is not lost. */
class WakeUp {
  #rung = Promise.withResolvers<void>()
  readonly ring = (): void => this.#rung.resolve()

  async wait(): Promise<void> {
    await this.#rung.promise
    this.#rung = Promise.withResolvers<void>()
  }
}

/** Text deltas with their places between events. */
class DeltaQueue {
  #items: { delta: Delta; after: number }[] = []

  push(delta: Delta, after: number): void {
    if (this.#items.length >= MAX_QUEUED_DELTAS) this.#items = []
    this.#items.push({ delta, after })
  }

  /** Removes and yields the deltas whose place is before the event with this seq. */
  *takeBefore(seq: number): Generator<{ delta: Delta }, void> {
    for (let item = this.#items[0]; item && item.after < seq; item = this.#items[0]) {
      this.#items.shift()
      yield { delta: item.delta }
    }
  }
}
