import type { TroupeError } from '../../errors.ts'
import { toTroupeError } from '../../errors.ts'
import type { Event, EventDataOf, EventType } from '../event.ts'
import type { World } from '../world.ts'

/*
 * Invariants
 * 1. Only the owner of a run appends to it; the store checks the epoch in the same transaction that advances the head.
 * 2. Events commit in the order they were appended: what is committed is always a prefix, without holes.
 * 3. Nothing leaves the process before what it rests on is committed: effects await `committed()`, pure code does not.
 * 4. A failed flush poisons its journal for good: every later wait fails with the first error. Other journals go on.
 * 5. Listeners see committed events only, in order.
 */

export type Sync = 'normal' | 'full'

/** Events of one run that become durable together. */
export interface Append {
  run_id: string
  project: string
  epoch: number
  events: readonly Event[]
  sync: Sync
  /** Refuse when a command newer than this one waits: a run must not park past a wake-up it has not seen. */
  seen_command?: number
}

export type AppendOutcome = { ok: true } | { ok: false; error: TroupeError }

/** What a journal needs of a store: one outcome per append, in order; one refusal never fails its neighbours. */
export interface JournalStore {
  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]>
}

export interface JournalOptions {
  run_id: string
  project: string
  epoch: number
  /** The last seq that is already stored. */
  head: number
}

/** Effects that begin in one turn of the event loop. */
const EFFECT_BATCH_SIZE = 64

/** Collects the appends of every run in this process and commits them in groups. */
export class Committer {
  /** Effects in flight in this process. Many: commit once per turn of the event loop; few: at once. */
  inFlight = 0
  readonly world: World
  readonly #store: JournalStore
  readonly #listener: (events: readonly Event[]) => void
  readonly #dirty = new Set<Journal>()
  #scheduled: 'no' | 'later' | 'soon' = 'no'
  #flushing: Promise<void> | undefined
  #begunInBatch = 0
  readonly #waiting: (() => void)[] = []

  constructor(store: JournalStore, world: World, listener: (events: readonly Event[]) => void) {
    this.#store = store
    this.world = world
    this.#listener = listener
  }

  open(facts: JournalOptions): Journal {
    return new Journal(this, facts)
  }

  /**
   * Lets an effect begin: at once, or in a later turn of the event loop when many want to. A thousand answers that
   * arrive together would otherwise be worked on, and committed, in one go that nobody can interrupt.
   */
  acquireSlot(): Promise<void> | undefined {
    if (this.#begunInBatch === 0) this.world.defer(() => this.#nextBatch())
    if (this.#begunInBatch < EFFECT_BATCH_SIZE && this.#waiting.length === 0) {
      this.#begunInBatch += 1
      return undefined
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #nextBatch(): void {
    const portion = this.#waiting.splice(0, EFFECT_BATCH_SIZE)
    this.#begunInBatch = portion.length
    if (portion.length > 0) this.world.defer(() => this.#nextBatch())
    for (const begin of portion) begin()
  }

  /** @internal A journal has something new; `urgent` when an effect waits for it. */
  schedule(journal: Journal, urgent: boolean): void {
    this.#dirty.add(journal)
    if (this.#flushing) return
    if (urgent && this.inFlight < 3) {
      if (this.#scheduled === 'soon') return
      this.#scheduled = 'soon'
      queueMicrotask(() => this.#flush('soon'))
    } else if (this.#scheduled === 'no') {
      this.#scheduled = 'later'
      this.world.defer(() => this.#flush('later'))
    }
  }

  #flush(as: 'later' | 'soon'): void {
    if (this.#flushing || this.#scheduled === 'no') return
    if (as === 'later' && this.#scheduled === 'soon') return
    this.#scheduled = 'no'
    const journals = [...this.#dirty].filter((journal) => !journal.poisoned)
    this.#dirty.clear()
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
    this.#flushing = outcomes
      .catch((thrown: unknown) => failAll(batch, thrown))
      .then((settled) => {
        this.#flushing = undefined
        this.#settle(journals, batch, settled)
        for (const journal of this.#dirty) this.schedule(journal, true)
      })
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

/** The journal of one run, as its owner writes it. */
export class Journal {
  readonly run_id: string
  readonly epoch: number
  /** Called once when the journal can no longer be written. */
  onPoisoned: ((error: TroupeError) => void) | undefined
  readonly #committer: Committer
  readonly #project: string
  #head: number
  #pending: Event[] = []
  #sync: Sync = 'normal'
  #seenCommand: number | undefined
  #next: PromiseWithResolvers<void> | undefined
  #taken: PromiseWithResolvers<void> | undefined
  #inFlight = false
  #poison: TroupeError | undefined
  #closed = false

  constructor(committer: Committer, facts: JournalOptions) {
    this.#committer = committer
    this.run_id = facts.run_id
    this.#project = facts.project
    this.epoch = facts.epoch
    this.#head = facts.head
  }

  get head(): number {
    return this.#head
  }

  get poisoned(): boolean {
    return this.#poison !== undefined
  }

  /** True while something appended is not yet committed. */
  get hasUncommitted(): boolean {
    return this.#pending.length > 0 || this.#inFlight
  }

  /** Adds an event; it commits soon, in order. Await `committed()` before anything may rest on it outside. */
  append<T extends EventType>(type: T, data: EventDataOf<T>, session_id?: string): Event {
    const { run_id } = this
    const seq = ++this.#head
    const at = this.#committer.world.now()
    const event = (
      session_id === undefined ? { run_id, seq, at, type, data } : { run_id, seq, at, type, session_id, data }
    ) as Event
    // A store that committed what it reported as failed would take what follows it for the next events.
    if (this.#poison || this.#closed) return event
    this.#pending.push(event)
    this.#committer.schedule(this, false)
    return event
  }

  /** Nothing more is written: what comes after the last event of a run is lost on purpose. */
  close(): void {
    this.#closed = true
  }

  /** Resolves once everything appended so far is in the store, synced as asked. */
  commit(sync: Sync = 'normal', seenCommand?: number): Promise<void> {
    if (this.#poison) return Promise.reject(this.#poison)
    if (this.#pending.length === 0 && sync === 'normal') {
      if (!this.#inFlight) return RESOLVED
      // Nobody may have waited yet when the flush under way began.
      this.#taken ??= Promise.withResolvers<void>()
      return this.#taken.promise
    }
    if (sync === 'full') this.#sync = 'full'
    if (seenCommand !== undefined) this.#seenCommand = seenCommand
    this.#next ??= Promise.withResolvers<void>()
    this.#committer.schedule(this, true)
    return this.#next.promise
  }

  /** @internal */
  takePending(): Append {
    const append: Append = {
      run_id: this.run_id,
      project: this.#project,
      epoch: this.epoch,
      events: this.#pending,
      sync: this.#sync,
      ...(this.#seenCommand === undefined ? undefined : { seen_command: this.#seenCommand }),
    }
    this.#pending = []
    this.#sync = 'normal'
    this.#seenCommand = undefined
    this.#taken = this.#next
    this.#next = undefined
    this.#inFlight = true
    return append
  }

  /** @internal */
  settle(outcome: AppendOutcome): void {
    const waiting = this.#taken
    this.#taken = undefined
    this.#inFlight = false
    if (outcome.ok) {
      waiting?.resolve()
      return
    }
    this.#poison = outcome.error
    // Sent on, these would follow a hole.
    this.#pending = []
    for (const waiters of [waiting, this.#next]) {
      waiters?.promise.catch(() => {})
      waiters?.reject(outcome.error)
    }
    this.onPoisoned?.(outcome.error)
  }
}

const RESOLVED = Promise.resolve()
