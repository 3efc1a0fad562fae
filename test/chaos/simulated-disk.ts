import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Append, AppendOutcome } from '../../src/kernel/journal/journal.ts'
import type { Store } from '../../src/store/store.ts'
import { memoryStore } from '../support/memory-store.ts'

/*
 * The data that survives a process.
 * 1. It contains copies of committed changes only, so that no process can modify them afterwards.
 * 2. Power loss reverts every change after the last full sync, and none before it.
 */

interface Change {
  /** The time of the store. */
  at: number
  apply(store: Store): unknown
  synced: boolean
  append: boolean
}

/** Begins of actions, human answers and run results must survive a power failure (write-ahead). */
function requiresSync(event: Event): boolean {
  if (isEvent(event, 'tool:pre')) return event.data.kind === 'act'
  return isEvent(event, 'gate:answer') || isEvent(event, 'run:end')
}

export class SimulatedDisk {
  /** The clock of the store, which is the clock of the process that was started last. */
  clock: () => number = () => 0
  store = this.#createStore()
  /** Keys whose `model:end` was committed. */
  readonly answered_calls = new Set<string>()
  /** Types of events that required a full sync and did not get one. */
  readonly unsynced: string[] = []
  #log: Change[] = []
  #replayedAt: number | undefined

  append(batch: readonly Append[]): AppendOutcome[] {
    const json = JSON.stringify(batch)
    const synced = batch.some(({ sync }) => sync === 'full')
    const apply = (store: Store) => store.append(JSON.parse(json) as Append[]) as AppendOutcome[]
    this.#log.push({ apply, synced, append: true, at: this.clock() })
    const outcomes = apply(this.store)
    batch.forEach(({ events, sync }, index) => {
      if (!outcomes[index]?.ok) return
      for (const event of events) {
        if (isEvent(event, 'model:end')) this.answered_calls.add(event.data.key)
        if (sync !== 'full' && requiresSync(event)) this.unsynced.push(event.type)
      }
    })
    return outcomes
  }

  change<T>(synced: boolean, apply: (store: Store) => T): T {
    this.#log.push({ apply, synced, append: false, at: this.clock() })
    return apply(this.store)
  }

  /** Reverts all changes after the last full sync. */
  losePower(): Promise<void> {
    return this.#keep(this.#log.findLastIndex(({ synced }) => synced) + 1)
  }

  /** Reverts the last append: a store bug that the oracle must detect. */
  forgetLastAppend(): Promise<void> {
    const last = this.#log.findLastIndex(({ append }) => append)
    return this.#keep(last === -1 ? this.#log.length : last)
  }

  async journal(run_id: string): Promise<Event[]> {
    return structuredClone(await this.store.events(run_id))
  }

  #createStore(): Store {
    return memoryStore({ now: () => this.#replayedAt ?? this.clock() })
  }

  async #keep(changes: number): Promise<void> {
    this.#log = this.#log.slice(0, Math.max(0, changes))
    this.store = this.#createStore()
    this.answered_calls.clear()
    for (const { apply, at } of this.#log) {
      this.#replayedAt = at
      await Promise.resolve(apply(this.store)).catch(() => {})
    }
    this.#replayedAt = undefined
  }
}
