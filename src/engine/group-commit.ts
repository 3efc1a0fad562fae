import { toTroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import type { Append, AppendOutcome, FlushScheduler, JournalOptions, JournalStore } from '../kernel/journal/journal.ts'
import { Journal } from '../kernel/journal/journal.ts'
import type { World } from '../kernel/world.ts'

/*
 * Group commit: flushes the journals of all runs of this process together.
 * 1. Flushes of different journals may overlap if the store answers late, so that one slow flush does not hold up the others.
 * 2. Listeners see committed events only, in order within a run.
 */

/** Batches in flight at a time. More would make each batch smaller (group commit) and occupy more connections. */
const MAX_FLUSHES = 4
/** Effects that may begin per turn of the event loop. */
const EFFECT_BATCH_SIZE = 64

export class Committer implements FlushScheduler {
  /** Effects in flight. With few, commits are immediate; with many, there is one per turn of the event loop. */
  inFlight = 0
  readonly world: World
  readonly #store: JournalStore
  readonly #listener: (events: readonly Event[]) => void
  readonly #dirty = new Set<Journal>()
  #scheduled: 'no' | 'later' | 'soon' = 'no'
  /** Number of batches that the store has not answered yet. */
  #flushes = 0
  #begunInBatch = 0
  readonly #slotQueue: (() => void)[] = []

  constructor(store: JournalStore, world: World, listener: (events: readonly Event[]) => void) {
    this.#store = store
    this.world = world
    this.#listener = listener
  }

  open(options: JournalOptions): Journal {
    return new Journal(this, options)
  }

  /**
   * Resolves when an effect may begin; `undefined` means now. Back-pressure against a thundering herd: a thousand
   * responses that arrive together would otherwise block the event loop until all are committed.
   */
  acquireSlot(): Promise<void> | undefined {
    if (this.#begunInBatch === 0) this.world.defer(() => this.#startBatch())
    if (this.#begunInBatch < EFFECT_BATCH_SIZE && this.#slotQueue.length === 0) {
      this.#begunInBatch += 1
      return undefined
    }
    return new Promise((resolve) => this.#slotQueue.push(resolve))
  }

  #startBatch(): void {
    const batch = this.#slotQueue.splice(0, EFFECT_BATCH_SIZE)
    this.#begunInBatch = batch.length
    if (batch.length > 0) this.world.defer(() => this.#startBatch())
    for (const begin of batch) begin()
  }

  schedule(journal: Journal, urgent: boolean): void {
    this.#dirty.add(journal)
    if (journal.isFlushing || this.#flushes === MAX_FLUSHES) return
    if (urgent && this.inFlight < 3) {
      if (this.#scheduled === 'soon') return
      this.#scheduled = 'soon'
      queueMicrotask(() => this.#flush('soon'))
    } else if (this.#scheduled === 'no') {
      this.#scheduled = 'later'
      this.world.defer(() => this.#flush('later'))
    }
  }

  #flush(urgency: 'later' | 'soon'): void {
    if (this.#scheduled === 'no' || (urgency === 'later' && this.#scheduled === 'soon')) return
    this.#scheduled = 'no'
    // A flush that was scheduled before the limit was reached: the next answer of the store schedules it again.
    if (this.#flushes === MAX_FLUSHES) return
    const journals = this.#takeDirty()
    if (journals.length === 0) return
    const batch = journals.map((journal) => journal.takePending())
    let outcomes: AppendOutcome[] | Promise<AppendOutcome[]>
    try {
      outcomes = this.#store.append(batch)
    } catch (thrown) {
      outcomes = failAll(batch, thrown)
    }
    if (Array.isArray(outcomes)) {
      this.#settle(journals, batch, outcomes)
      return
    }
    this.#flushes += 1
    void outcomes
      .catch((thrown: unknown) => failAll(batch, thrown))
      .then((settled) => {
        this.#flushes -= 1
        this.#settle(journals, batch, settled)
        for (const journal of this.#dirty) this.schedule(journal, true)
      })
  }

  /** The journals that can be flushed now. Those with an append in flight stay dirty. */
  #takeDirty(): Journal[] {
    const journals: Journal[] = []
    for (const journal of this.#dirty) {
      if (journal.isFlushing) continue
      this.#dirty.delete(journal)
      if (!journal.poisoned) journals.push(journal)
    }
    return journals
  }

  #settle(journals: readonly Journal[], batch: readonly Append[], outcomes: readonly AppendOutcome[]): void {
    journals.forEach((journal, index) => {
      const outcome = outcomes[index]
      const append = batch[index]
      if (!outcome || !append) return
      journal.settle(outcome)
      if (outcome.ok && append.events.length > 0) this.#listener(append.events)
    })
  }
}

function failAll(batch: readonly Append[], thrown: unknown): AppendOutcome[] {
  const error = toTroupeError(thrown, 'store_failed')
  return batch.map(() => ({ ok: false, error }))
}
