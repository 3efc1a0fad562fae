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

interface Queue {
  active: number
  waiting: { rank: number; start: () => void }[]
}

/**
 * Lets at most `limit` sessions of a name work at once in this execution. The order of work is no outcome: a replay may start sessions in
 * another order, and each of them still finds its own steps.
 */
export class SessionQueues {
  readonly #queues = new Map<string, Queue>()

  /** Resolves when it is this session's turn, with the function that frees its place. Rejects on abort. */
  async enter({ name, limit, rank }: QueuePlace, signal: AbortSignal): Promise<() => void> {
    const queue = this.#queues.get(name) ?? { active: 0, waiting: [] }
    this.#queues.set(name, queue)
    const leave = () => {
      const next = queue.waiting.shift()
      if (next) next.start()
      else queue.active -= 1
    }
    if (queue.active < limit) {
      queue.active += 1
      return leave
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const entry = { rank, start: resolve }
    const position = queue.waiting.findIndex((other) => other.rank > rank)
    queue.waiting.splice(position < 0 ? queue.waiting.length : position, 0, entry)
    try {
      await withAbort(promise, signal)
    } catch (thrown) {
      const index = queue.waiting.indexOf(entry)
      if (index >= 0) queue.waiting.splice(index, 1)
      else leave()
      throw thrown
    }
    return leave
  }
}
