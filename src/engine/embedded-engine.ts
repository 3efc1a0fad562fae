import { toTroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { Committer } from '../kernel/journal/journal.ts'
import type { Delta, Ports } from '../kernel/ports.ts'
import type { World } from '../kernel/world.ts'
import type { Lease, Store } from '../store/store.ts'
import type { Engine, ReopenOptions, StreamItem } from './engine.ts'
import { isOwnerDead, leaseOwnerId } from './lease-owner.ts'
import { LEASE_MS, RunAttempt } from './run-attempt.ts'

/*
 * Executes runs in this process.
 * 1. At most `concurrency` runs are under way; the others queue in order.
 * 2. Leases are renewed while their runs are under way; a lost lease stops its run here at once.
 * 3. Commands written by other processes are noticed within a quarter of a second, our own at once.
 */

const RENEW_MS = 10_000
const POLL_MS = 250

export interface EmbeddedEngineOptions {
  store: Store
  world: World
  /** Everything but `publish`, which is the engine's own. */
  ports: Omit<Ports, 'publish'>
  concurrency: number
  /** Called with an error of a listener or a hook; runs go on. */
  onListenerError: (error: Error) => void
}

interface ActiveRun {
  /** Someone joined since we last looked for commands. */
  joined: boolean
  attempt: RunAttempt | undefined
  lease: Lease | undefined
  done: Promise<void>
}

export class EmbeddedEngine implements Engine {
  readonly #options: EmbeddedEngineOptions
  readonly #ports: Ports
  readonly #owner: string
  readonly #committer: Committer
  readonly #listeners = new Set<(signal: StreamItem) => void>()
  readonly #activeRuns = new Map<string, ActiveRun>()
  readonly #queue: (() => void)[] = []
  #usedSlots = 0
  #draining = false
  #polling = false
  /** Aborted when nothing is under way any more, so that an idle engine keeps no timer. */
  #idle = new AbortController()

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options
    this.#owner = leaseOwnerId(options.world.randomHex(4))
    this.#ports = { ...options.ports, publish: (delta) => this.#notify({ delta }) }
    this.#committer = new Committer(options.store, options.world, (events) => this.#onCommitted(events))
  }

  get active(): readonly string[] {
    return [...this.#activeRuns.keys()]
  }

  execute(run_id: string, reopen?: ReopenOptions): Promise<void> {
    const already = this.#activeRuns.get(run_id)
    if (already) {
      already.joined = true
      return already.done
    }
    const underway: ActiveRun = { joined: false, attempt: undefined, lease: undefined, done: Promise.resolve() }
    this.#activeRuns.set(run_id, underway)
    underway.done = this.#executeRun(run_id, underway, reopen)
    underway.done.catch(() => {})
    void this.#pollLoop()
    return underway.done
  }

  wake(run_id: string): void {
    void this.#activeRuns.get(run_id)?.attempt?.pollCommands()
  }

  subscribe(listener: (signal: StreamItem) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async drain(): Promise<void> {
    this.#draining = true
    const underway = [...this.#activeRuns.values()]
    for (const { attempt } of underway) attempt?.pause()
    await Promise.allSettled(underway.map(({ done }) => done))
  }

  async #executeRun(run_id: string, underway: ActiveRun, reopen: ReopenOptions | undefined): Promise<void> {
    await this.#acquireSlot()
    try {
      if (this.#draining) return
      let end = await this.#runAttempt(run_id, underway, reopen).catch((error: unknown) =>
        retryIfJoined(underway, error),
      )
      while (end === 'again' || (end === 'parked' && (await this.#hasNewCommands(run_id, underway)))) {
        if (this.#draining) return
        end = await this.#runAttempt(run_id, underway, undefined).catch((error: unknown) => ignoreIfTakenOver(error))
      }
    } finally {
      // In one move with the decision to stop: whoever comes later starts anew instead of joining what is over.
      this.#activeRuns.delete(run_id)
      if (this.#activeRuns.size === 0) this.#idle.abort()
      // A place is handed over, not given back: whoever asks in between would take it a second time.
      const next = this.#queue.shift()
      if (next) next()
      else this.#usedSlots -= 1
    }
  }

  /** A command written between the parking of a run and the release of its lease would wake nobody else. */
  async #hasNewCommands(run_id: string, underway: ActiveRun): Promise<boolean> {
    for (;;) {
      underway.joined = false
      const newer = await this.#options.store.commands(run_id, underway.attempt?.seenCommand ?? 0)
      if (newer.length > 0) return true
      if (!underway.joined) return false
    }
  }

  async #runAttempt(run_id: string, underway: ActiveRun, reopen: ReopenOptions | undefined) {
    const { store, world } = this.#options
    const lease = await store.lease(run_id, {
      owner: this.#owner,
      now: world.now(),
      ttl_ms: LEASE_MS,
      isDead: isOwnerDead,
    })
    underway.lease = lease
    underway.attempt = new RunAttempt({
      store,
      ports: this.#ports,
      committer: this.#committer,
      owner: this.#owner,
      lease,
      reopen,
      deliver: (events) => this.#onCommitted(events),
      onWarning: (error) => this.#options.onListenerError(error),
    })
    if (this.#draining) underway.attempt.pause()
    try {
      return await underway.attempt.run()
    } finally {
      underway.lease = undefined
      await store.release(lease).catch(() => {})
    }
  }

  async #acquireSlot(): Promise<void> {
    if (this.#usedSlots < this.#options.concurrency) this.#usedSlots += 1
    else await new Promise<void>((go) => this.#queue.push(go))
  }

  /** One loop for all runs: looks for commands of other processes, renews leases. Ends when nothing is under way. */
  async #pollLoop(): Promise<void> {
    if (this.#polling) return
    this.#polling = true
    this.#idle = new AbortController()
    const { world } = this.#options
    let renewed = world.now()
    while (this.#activeRuns.size > 0) {
      // Idle for a moment and busy again: with the old signal this loop would turn without ever waiting.
      if (this.#idle.signal.aborted) this.#idle = new AbortController()
      await world.sleep(POLL_MS, this.#idle.signal).catch(() => {})
      for (const { attempt } of this.#activeRuns.values()) await attempt?.pollCommands()
      if (Math.abs(world.now() - renewed) >= RENEW_MS) {
        await this.#renewLeases()
        renewed = world.now()
      }
    }
    this.#polling = false
  }

  async #renewLeases(): Promise<void> {
    const { store, world } = this.#options
    const leases = [...this.#activeRuns.values()].flatMap(({ lease }) => lease ?? [])
    const until = world.now() + LEASE_MS
    try {
      const lost = new Set(await store.renew(leases, until))
      for (const lease of leases) {
        if (lost.has(lease.run_id)) this.#activeRuns.get(lease.run_id)?.attempt?.markLeaseLost()
        else lease.lease_until = until
      }
    } catch {
      // A store that cannot be reached now is tried again; the epoch guards every append meanwhile.
    }
  }

  #onCommitted(events: readonly Event[]): void {
    for (const event of events) {
      for (const hooks of this.#ports.hooks) if (hooks.onEvent) this.#callListener(() => hooks.onEvent?.(event))
      if (this.#listeners.size > 0) this.#notify({ event })
    }
  }

  #notify(signal: { event: Event } | { delta: Delta }): void {
    for (const listener of this.#listeners) this.#callListener(() => listener(signal))
  }

  #callListener(call: () => void): void {
    try {
      call()
    } catch (thrown) {
      this.#options.onListenerError(toTroupeError(thrown))
    }
  }
}

/** Someone asked for the run while its lease was being lost, perhaps with an answer: the new owner may have parked it. */
function retryIfJoined(underway: ActiveRun, error: unknown): 'again' {
  if (underway.joined && toTroupeError(error).code === 'lease_lost') return 'again'
  throw error
}

/** Whoever brought the command has taken the run up itself: what was to be done here is done. */
function ignoreIfTakenOver(error: unknown): 'ended' {
  if (toTroupeError(error).code === 'run_busy') return 'ended'
  throw error
}
