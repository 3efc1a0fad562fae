import type { TroupeError } from '../../errors.ts'
import type { Event, EventDataOf, EventType } from '../event.ts'
import type { World } from '../world.ts'

/*
 * The journal (event sourcing): an append-only list of events per run. When events are flushed is the scheduler's matter.
 * 1. Only the owner of a run appends to it: the store checks the epoch (fencing token) in the transaction that advances
 *    the head.
 * 2. Events commit in append order: the committed events are always a prefix, without gaps.
 * 3. Write-ahead: an effect awaits `commit()` before it leaves the process; pure code does not wait.
 * 4. A failed flush poisons its journal for good: every later commit fails with the first error. Other journals continue.
 * 5. A journal has at most one append in flight.
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

/** Smaller jumps are corrections of the clock, and no news. */
const MIN_CLOCK_JUMP_MS = 5000

/** Decides when the journals of a process are flushed to the store, and when effects may begin. */
export interface FlushScheduler {
  readonly world: World
  /** Effects in flight. */
  inFlight: number
  /** Resolves when an effect may begin; `undefined` means now. */
  acquireSlot(): Promise<void> | undefined
  /** Schedules a flush; `urgent` if an effect waits for it. */
  schedule(journal: Journal, urgent: boolean): void
}

/** The journal of one run, written by its owner. */
export class Journal {
  readonly run_id: string
  readonly epoch: number
  /** Called once, when a flush has failed. */
  onPoisoned: ((error: TroupeError) => void) | undefined
  readonly #scheduler: FlushScheduler
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
  #lastAt: number
  #lastMonotonic: number

  constructor(scheduler: FlushScheduler, options: JournalOptions) {
    this.#scheduler = scheduler
    this.#lastAt = scheduler.world.now()
    this.#lastMonotonic = scheduler.world.monotonic()
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

  /** True if events of this session are not in the store yet, as far as this journal knows. */
  hasUncommittedEvents(session_id: string): boolean {
    return this.#inFlight || this.#pending.some((event) => event.session_id === session_id)
  }

  /** @internal */
  get isFlushing(): boolean {
    return this.#inFlight
  }

  /** Records a jump of the clock since the last event, before the next one. */
  #recordClockJump(now: number): void {
    const { world } = this.#scheduler
    const monotonic = world.monotonic()
    const jump_ms = Math.round(now - this.#lastAt - (monotonic - this.#lastMonotonic))
    this.#lastAt = now
    this.#lastMonotonic = monotonic
    if (jump_ms >= MIN_CLOCK_JUMP_MS) this.append('run:clock', { jump_ms })
  }

  /** Adds an event, which commits soon and in order. Await `commit()` before an effect that depends on it. */
  append<T extends EventType>(type: T, data: EventDataOf<T>, session_id?: string): Event {
    const { run_id } = this
    const at = this.#scheduler.world.now()
    this.#recordClockJump(at)
    const seq = ++this.#head
    const event = (
      session_id === undefined ? { run_id, seq, at, type, data } : { run_id, seq, at, type, session_id, data }
    ) as Event
    // After a failed flush the store's head is unknown: an event sent now could take the wrong place.
    if (this.#poison || this.#closed) return event
    this.#pending.push(event)
    this.#scheduler.schedule(this, false)
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
    this.#scheduler.schedule(this, true)
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
