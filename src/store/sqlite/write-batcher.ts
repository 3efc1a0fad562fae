import { TroupeError } from '../../errors.ts'
import type { Sync } from '../../kernel/journal/journal.ts'
import type { SqliteConnection } from './connection.ts'
import type { Tables } from './tables.ts'

/*
 * Invariants
 * 1. Every change is checked and written in one transaction; a refused one (`TroupeError`) has written nothing yet.
 * 2. The first changes of a turn of the event loop are made at once: who is alone waits for nobody. Those that follow in
 *    the same turn share transactions of a bounded size, one a turn, so that a thousand runs stall no one.
 * 3. Each has its own outcome. A transaction that fails for another reason than a refusal is undone, and its changes are
 *    made one by one: what is wrong with one of them fails no other.
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

  /** Makes a change as soon as the file is free. */
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

  /** Makes a change that may share its transaction with others. */
  writeBatched<T>(work: WriteWork<T>): Promise<T> {
    this.#flushing ??= this.#flushLoop()
    if (this.#writesThisTick < IMMEDIATE_WRITES_PER_TICK && this.#queue.length === 0) {
      this.#writesThisTick += 1
      return this.writeNow('normal', work)
    }
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  /** Resolves when no change waits any more. */
  async drain(): Promise<void> {
    while (this.#flushing) await this.#flushing
  }

  async #flushLoop(): Promise<void> {
    do {
      await new Promise<void>((resolve) => void setImmediate(resolve))
      this.#writesThisTick = 0
      const portion = this.#queue.splice(0, MAX_BATCH)
      if (portion.length > 0) await this.#writeBatch(portion)
    } while (this.#queue.length > 0)
    this.#flushing = undefined
  }

  async #writeBatch(portion: readonly QueuedWrite[]): Promise<void> {
    let outcomes: (() => void)[] = []
    try {
      await this.writeNow('normal', (tables) => {
        outcomes = portion.map((waiting) => runQueuedWrite(waiting, tables))
      })
      for (const tell of outcomes) tell()
    } catch {
      await Promise.all(portion.map(({ work, resolve, reject }) => this.writeNow('normal', work).then(resolve, reject)))
    }
  }
}

function runQueuedWrite({ work, resolve, reject }: QueuedWrite, tables: Tables): () => void {
  try {
    const value = work(tables)
    return () => resolve(value)
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown
    return () => reject(thrown)
  }
}
