import type { TroupeError } from '../../errors.ts'
import { toTroupeError } from '../../errors.ts'
import type { Event, EventDataOf, EventType } from '../event.ts'
import type { World } from '../world.ts'

/*
 * The journal (event sourcing): an append-only list of events per run, committed in groups.
 * 1. Only the owner of a run appends to it: the store checks the epoch (fencing token) in the transaction that advances
 *    the head.
 * 2. Events commit in append order: the committed events are always a prefix, without gaps.
 * 3. Write-ahead: an effect awaits `commit()` before it leaves the process; pure code does not wait.
 * 4. A failed flush poisons its journal for good: every later commit fails with the first error. Other journals continue.
 * 5. A journal has at most one append in flight. Flushes of different journals may overlap if the store answers late, so
 *    that one slow flush does not hold up the others.
 * 6. Listeners see committed events only, in order within a run.
 */

export type Sync = 'normal' | 'full'

/** Events of one run that commit atomically. */
export interface Append {
  run_id: string
  project: string
  epoch: number
  events: readonly Event[]
  sync: Sync
  /** Reject if a newer command is waiting. Prevents a lost wake-up: a run must not park before it has read it. */
  seen_command?: number
  /** Give the lease back with these events, the last of this owner. */
  release?: true
}

/** Conditions and effects of a commit beyond its events. */
export interface CommitOptions {
  seen_command?: number
  release?: true
}

export type AppendOutcome = { ok: true } | { ok: false; error: TroupeError }

/** The store port. Returns one outcome per append, in order; a rejected append does not fail the others. */
export interface JournalStore {
  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]>
}

export interface JournalOptions {
  run_id: string
  project: string
  epoch: number
  /** The last stored `seq`. */
  head: number
}

/** Batches in flight at a time. More would make each batch smaller (group commit) and occupy more connections. */
const MAX_FLUSHES = 4
/** Effects that may begin per turn of the event loop. */
const EFFECT_BATCH_SIZE = 64

/** Group commit for all runs of this process. */
export class Committer {
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

  /** @internal Schedules a flush; `urgent` if an effect waits for it. */
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

/** The journal of one run, written by its owner. */
export class Journal {
  readonly run_id: string
  readonly epoch: number
  /** Called once, when a flush has failed. */
  onPoisoned: ((error: TroupeError) => void) | undefined
  readonly #committer: Committer
  readonly #project: string
  #head: number
  #pending: Event[] = []
  #sync: Sync = 'normal'
  #commitOptions: CommitOptions | undefined
  /** Waits for the next flush. */
  #nextCommit: PromiseWithResolvers<void> | undefined
  /** Waits for the flush in flight. */
  #currentCommit: PromiseWithResolvers<void> | undefined
  #inFlight = false
  #poison: TroupeError | undefined
  #closed = false

  constructor(committer: Committer, options: JournalOptions) {
    this.#committer = committer
    this.run_id = options.run_id
    this.#project = options.project
    this.epoch = options.epoch
    this.#head = options.head
  }

  get head(): number {
    return this.#head
  }

  get poisoned(): boolean {
    return this.#poison !== undefined
  }

  get hasUncommitted(): boolean {
    return this.#pending.length > 0 || this.#inFlight
  }

  /** @internal */
  get isFlushing(): boolean {
    return this.#inFlight
  }

  /** Adds an event, which commits soon and in order. Await `commit()` before an effect that depends on it. */
  append<T extends EventType>(type: T, data: EventDataOf<T>, session_id?: string): Event {
    const { run_id } = this
    const seq = ++this.#head
    const at = this.#committer.world.now()
    const event = (
      session_id === undefined ? { run_id, seq, at, type, data } : { run_id, seq, at, type, session_id, data }
    ) as Event
    // After a failed flush the store's head is unknown: an event sent now could take the wrong place.
    if (this.#poison || this.#closed) return event
    this.#pending.push(event)
    this.#committer.schedule(this, false)
    return event
  }

  /** Drops all later appends: nothing may follow the last event of a run. */
  close(): void {
    this.#closed = true
  }

  /** Resolves once everything appended so far is in the store, with this durability. */
  commit(sync: Sync = 'normal', options?: CommitOptions): Promise<void> {
    if (this.#poison) return Promise.reject(this.#poison)
    if (this.#pending.length === 0 && sync === 'normal') {
      if (!this.#inFlight) return RESOLVED
      this.#currentCommit ??= Promise.withResolvers<void>()
      return this.#currentCommit.promise
    }
    if (sync === 'full') this.#sync = 'full'
    if (options) this.#commitOptions = options
    this.#nextCommit ??= Promise.withResolvers<void>()
    this.#committer.schedule(this, true)
    return this.#nextCommit.promise
  }

  /** @internal */
  takePending(): Append {
    const append: Append = {
      run_id: this.run_id,
      project: this.#project,
      epoch: this.epoch,
      events: this.#pending,
      sync: this.#sync,
      ...this.#commitOptions,
    }
    this.#pending = []
    this.#sync = 'normal'
    this.#commitOptions = undefined
    this.#currentCommit = this.#nextCommit
    this.#nextCommit = undefined
    this.#inFlight = true
    return append
  }

  /** @internal */
  settle(outcome: AppendOutcome): void {
    const current = this.#currentCommit
    this.#currentCommit = undefined
    this.#inFlight = false
    if (outcome.ok) {
      current?.resolve()
      return
    }
    this.#poison = outcome.error
    // Flushed later, these would leave a gap in `seq`.
    this.#pending = []
    for (const commit of [current, this.#nextCommit]) {
      commit?.promise.catch(() => {})
      commit?.reject(outcome.error)
    }
    this.onPoisoned?.(outcome.error)
  }
}

const RESOLVED = Promise.resolve()
