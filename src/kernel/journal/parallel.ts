import { AsyncLocalStorage } from 'node:async_hooks'
import { toTroupeError } from '../../errors.ts'
import type { SettledResult } from '../context.ts'
import { Slots } from '../session/session-queue.ts'
import { isFatal } from './fatal-error.ts'

/*
 * Branches with bounded concurrency.
 * 1. At most `limit` branches hold a slot; the others wait in the order of their items.
 * 2. Before the cut of a reopened run, branches hold none: otherwise retried branches, and those that wait for them, could keep the replay from
 *    reaching what others have recorded. Each takes its slot after the cut, before its first effect. Sessions that wait in a queue do likewise.
 */

/** Resolves with the function that releases the slot. */
type TakeSlot = () => Promise<() => void>

/** Work that begins before a cut, and takes its slot after it. */
export class Branch {
  readonly #take: TakeSlot
  /** The branch around this one. */
  readonly #outer = currentBranch.getStore()
  #taking: Promise<void> | undefined
  #release: (() => void) | undefined

  constructor(take: TakeSlot) {
    this.#take = take
  }

  run<T>(work: () => T): T {
    return currentBranch.run(this, work)
  }

  takeSlot(cut: Promise<void> | undefined): Promise<void> | undefined {
    if (this.#release) return undefined
    this.#taking ??= this.#takeAfter(cut)
    return this.#taking
  }

  end(): void {
    // A failed cut ends the execution; whoever waited for it has the error.
    this.#taking?.then(
      () => this.#release?.(),
      () => {},
    )
  }

  async #takeAfter(cut: Promise<void> | undefined): Promise<void> {
    await (this.#outer ? this.#outer.takeSlot(cut) : cut)
    this.#release = await this.#take()
  }
}

const currentBranch = new AsyncLocalStorage<Branch>()

/** What an effect waits for: the cut, and the slot of the branch that it belongs to. */
export function branchSlotAfter(cut: Promise<void> | undefined): Promise<void> | undefined {
  const branch = currentBranch.getStore()
  return branch ? branch.takeSlot(cut) : cut
}

export interface ParallelWork<T, R> {
  items: readonly T[]
  limit: number
  work(item: T, index: number): Promise<R>
}

/** Works on all items; results keep the order of the items, and failures stay apart. */
export async function runParallel<T, R>(
  { isCutDue }: { isCutDue: boolean },
  { items, limit, work }: ParallelWork<T, R>,
): Promise<SettledResult<R>[]> {
  const slots = new Slots(Math.max(1, limit))
  const run = async (item: T, index: number): Promise<SettledResult<R>> => {
    const branch = isCutDue ? new Branch(() => slots.enter()) : undefined
    const wait = branch ? undefined : slots.take()
    if (wait) await wait
    const end = () => (branch ? branch.end() : slots.release())
    try {
      const working = branch ? branch.run(() => work(item, index)) : work(item, index)
      const value = await working
      end()
      return { ok: true, value }
    } catch (thrown) {
      const error = toTroupeError(thrown)
      // Its slot stays taken: no other branch starts.
      if (isFatal(error)) throw error
      end()
      return { ok: false, error }
    }
  }
  return Promise.all(items.map(run))
}
