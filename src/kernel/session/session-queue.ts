import { withAbort } from '../world.ts'

/** A queue that a session waits in before its first turn. */
export interface QueuePlace {
  /** Sessions of the same name share the places. */
  name: string
  /** Sessions at work at once. */
  limit: number
  /** The lowest rank is next; equal ranks in the order of arrival. */
  rank: number
}

/** A counting semaphore. Whoever is next gets the slot directly: freed first, another one could take it. */
export class Slots {
  limit: number
  #taken = 0
  readonly #waiting: { rank: number; start: () => void }[] = []

  constructor(limit: number) {
    this.limit = limit
  }

  get isFull(): boolean {
    return this.#taken >= this.limit
  }

  /** Resolves with a slot, the lowest rank first; `undefined` if one is free. Rejects on abort. */
  take({ rank = 0, signal }: { rank?: number; signal?: AbortSignal } = {}): Promise<void> | undefined {
    if (!this.isFull) {
      this.#taken += 1
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const entry = { rank, start: resolve }
    const position = this.#waiting.findIndex((other) => other.rank > rank)
    this.#waiting.splice(position < 0 ? this.#waiting.length : position, 0, entry)
    if (!signal) return promise
    return withAbort(promise, signal).catch((thrown: unknown) => {
      const index = this.#waiting.indexOf(entry)
      if (index >= 0) this.#waiting.splice(index, 1)
      else this.release()
      throw thrown
    })
  }

  /** Takes a slot; resolves with the function that releases it. */
  async enter(place?: { rank: number; signal: AbortSignal }): Promise<() => void> {
    await this.take(place)
    return () => this.release()
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next) next.start()
    else this.#taken -= 1
  }
}

/**
 * Lets at most `limit` sessions of a name work at once in this execution. The order of work is no outcome: a replay may start sessions in
 * another order, and each of them still finds its own steps.
 */
export class SessionQueues {
  readonly #queues = new Map<string, Slots>()

  /** Resolves when it is this session's turn, with the function that frees its place. Rejects on abort. */
  async enter({ name, limit, rank }: QueuePlace, signal: AbortSignal): Promise<() => void> {
    const queue = this.#queues.get(name) ?? new Slots(limit)
    this.#queues.set(name, queue)
    queue.limit = limit
    return queue.enter({ rank, signal })
  }
}
