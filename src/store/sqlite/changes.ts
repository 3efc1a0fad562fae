import { TroupeError } from '../../errors.ts'
import type { Sync } from '../../kernel/journal.ts'
import type { Connection } from './connection.ts'
import type { Tables } from './tables.ts'

/*
 * Invariants
 * 1. Every change is checked and written in one transaction; a refused one (`TroupeError`) has written nothing yet.
 * 2. The first changes of a turn of the event loop are made at once: who is alone waits for nobody. Those that follow in
 *    the same turn share transactions of a bounded size, one a turn, so that a thousand runs stall no one.
 * 3. Each has its own outcome. A transaction that fails for another reason than a refusal is undone, and its changes are
 *    made one by one: what is wrong with one of them fails no other.
 */

const AT_ONCE = 2
const MOST_TOGETHER = 64

type Work<T> = (tables: Tables) => T

interface Waiting {
  work: Work<unknown>
  resolve(value: unknown): void
  reject(thrown: unknown): void
}

export class Changes {
  readonly #connection: Connection
  readonly #tables: Tables
  readonly #queue: Waiting[] = []
  #madeThisTurn = 0
  #turning: Promise<void> | undefined

  constructor(connection: Connection, tables: Tables) {
    this.#connection = connection
    this.#tables = tables
  }

  /** Makes a change as soon as the file is free. */
  now<T>(sync: Sync, work: Work<T>): Promise<T> {
    const { events } = this.#tables
    return this.#connection.retry(() => {
      try {
        const result = this.#connection.transact(sync, () => work(this.#tables))
        events.keep()
        return result
      } catch (thrown) {
        events.forget()
        throw thrown
      }
    })
  }

  /** Makes a change that may share its transaction with others. */
  together<T>(work: Work<T>): Promise<T> {
    this.#turning ??= this.#turn()
    if (this.#madeThisTurn < AT_ONCE && this.#queue.length === 0) {
      this.#madeThisTurn += 1
      return this.now('normal', work)
    }
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  /** Resolves when no change waits any more. */
  async settled(): Promise<void> {
    while (this.#turning) await this.#turning
  }

  async #turn(): Promise<void> {
    do {
      await new Promise<void>((resolve) => void setImmediate(resolve))
      this.#madeThisTurn = 0
      const portion = this.#queue.splice(0, MOST_TOGETHER)
      if (portion.length > 0) await this.#make(portion)
    } while (this.#queue.length > 0)
    this.#turning = undefined
  }

  async #make(portion: readonly Waiting[]): Promise<void> {
    let outcomes: (() => void)[] = []
    try {
      await this.now('normal', (tables) => {
        outcomes = portion.map((waiting) => outcomeOf(waiting, tables))
      })
      for (const tell of outcomes) tell()
    } catch {
      await Promise.all(portion.map(({ work, resolve, reject }) => this.now('normal', work).then(resolve, reject)))
    }
  }
}

function outcomeOf({ work, resolve, reject }: Waiting, tables: Tables): () => void {
  try {
    const value = work(tables)
    return () => resolve(value)
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown
    return () => reject(thrown)
  }
}
