import { TroupeError } from '../../errors.ts'
import type { Sync } from '../../kernel/journal/journal.ts'
import type { SqliteConnection } from './connection.ts'
import type { Tables } from './tables.ts'

/*
 * Invariants
 * 1. Every write is checked and carried out in one transaction; one that is rejected (`TroupeError`) has written nothing.
 * 2. The first writes of an event-loop turn are immediate, so that a single writer does not wait. Later writes of the same
 *    turn share transactions of bounded size, one per turn, so that many runs do not block the event loop. In memory all are immediate.
 * 3. Each write has its own outcome. If a shared transaction fails, it is rolled back and its writes are repeated one by
 *    one: a failing write does not fail the others.
 */

const IMMEDIATE_WRITES_PER_TICK = 2
const MAX_BATCH = 64

type WriteWork<T> = (tables: Tables) => T

interface QueuedWrite {
  work: WriteWork<unknown>
  resolve(value: unknown): void
  reject(thrown: unknown): void
}

export class WriteBatcher {
  readonly #connection: SqliteConnection
  readonly #tables: Tables
  readonly #queue: QueuedWrite[] = []
  #writesThisTick = 0
  #flushing: Promise<void> | undefined

  constructor(connection: SqliteConnection, tables: Tables) {
    this.#connection = connection
    this.#tables = tables
  }

  /** Writes in a transaction of its own, as soon as the lock is free. */
  writeNow<T>(sync: Sync, work: WriteWork<T>): Promise<T> {
    const { events } = this.#tables
    return this.#connection.retry(() => {
      try {
        const result = this.#connection.transact(sync, () => work(this.#tables))
        events.commit()
        return result
      } catch (thrown) {
        events.rollback()
        throw thrown
      }
    })
  }

  /** Writes in a transaction that may be shared with other writes. */
  writeBatched<T>(work: WriteWork<T>): Promise<T> {
    if (this.#connection.isInMemory) return this.writeNow('normal', work)
    this.#flushing ??= this.#flushLoop()
    if (this.#writesThisTick < IMMEDIATE_WRITES_PER_TICK && this.#queue.length === 0) {
      this.#writesThisTick += 1
      return this.writeNow('normal', work)
    }
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  /** Resolves when the queue is empty. */
  async drain(): Promise<void> {
    while (this.#flushing) await this.#flushing
  }

  async #flushLoop(): Promise<void> {
    do {
      await new Promise<void>((resolve) => void setImmediate(resolve))
      this.#writesThisTick = 0
      const batch = this.#queue.splice(0, MAX_BATCH)
      if (batch.length > 0) await this.#writeBatch(batch)
    } while (this.#queue.length > 0)
    this.#flushing = undefined
  }

  async #writeBatch(batch: readonly QueuedWrite[]): Promise<void> {
    let settle: (() => void)[] = []
    try {
      await this.writeNow('normal', (tables) => {
        settle = batch.map((write) => runQueuedWrite(write, tables))
      })
      for (const settleOne of settle) settleOne()
    } catch {
      await Promise.all(batch.map(({ work, resolve, reject }) => this.writeNow('normal', work).then(resolve, reject)))
    }
  }
}

/** Returns the function that settles the write once its transaction has committed. */
function runQueuedWrite({ work, resolve, reject }: QueuedWrite, tables: Tables): () => void {
  try {
    const value = work(tables)
    return () => resolve(value)
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown
    return () => reject(thrown)
  }
}
