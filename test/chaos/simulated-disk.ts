import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Append, AppendOutcome } from '../../src/kernel/journal/journal.ts'
import { MemoryStore } from '../../src/store/memory.ts'

/*
 * What survives a process.
 * 1. Only what was committed is here, as a copy: no object is shared with a process, so none can change it afterwards.
 * 2. Power loss takes back everything after the last full sync, and nothing before it.
 */

interface Change {
  redo(store: MemoryStore): unknown
  synced: boolean
  append: boolean
}

/** Begins of actions, answers of people, and results outlive a power failure. */
function mustBeSynced(event: Event): boolean {
  if (isEvent(event, 'tool:pre')) return event.data.kind === 'act'
  return isEvent(event, 'gate:answer') || isEvent(event, 'run:end')
}

export class SimulatedDisk {
  store = new MemoryStore()
  /** Keys whose `model:end` was committed. */
  readonly answered_calls = new Set<string>()
  /** What must be synced before anything rests on it, and was only committed. */
  readonly unsynced: string[] = []
  #log: Change[] = []

  append(batch: readonly Append[]): AppendOutcome[] {
    const json = JSON.stringify(batch)
    const synced = batch.some(({ sync }) => sync === 'full')
    const redo = (store: MemoryStore) => store.append(JSON.parse(json) as Append[])
    this.#log.push({ redo, synced, append: true })
    const outcomes = redo(this.store)
    batch.forEach(({ events, sync }, index) => {
      if (!outcomes[index]?.ok) return
      for (const event of events) {
        if (isEvent(event, 'model:end')) this.answered_calls.add(event.data.key)
        if (sync !== 'full' && mustBeSynced(event)) this.unsynced.push(event.type)
      }
    })
    return outcomes
  }

  change<T>(synced: boolean, redo: (store: MemoryStore) => T): T {
    this.#log.push({ redo, synced, append: false })
    return redo(this.store)
  }

  /** The power fails: what was not synced is gone. */
  losePower(): Promise<void> {
    return this.#keep(this.#log.findLastIndex(({ synced }) => synced) + 1)
  }

  /** What no store may do: forgets the last append. */
  forgetLastAppend(): Promise<void> {
    const last = this.#log.findLastIndex(({ append }) => append)
    return this.#keep(last === -1 ? this.#log.length : last)
  }

  async journal(run_id: string): Promise<Event[]> {
    return structuredClone(await this.store.events(run_id))
  }

  async #keep(changes: number): Promise<void> {
    this.#log = this.#log.slice(0, Math.max(0, changes))
    this.store = new MemoryStore()
    this.answered_calls.clear()
    for (const { redo } of this.#log) await Promise.resolve(redo(this.store)).catch(() => {})
  }
}
