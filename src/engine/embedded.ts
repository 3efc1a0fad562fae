import { asTroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { Committer } from '../kernel/journal.ts'
import type { Delta, Ports } from '../kernel/ports.ts'
import type { World } from '../kernel/world.ts'
import type { Lease, Store } from '../store/store.ts'
import { Attempt, LEASE_MS } from './attempt.ts'
import type { Engine, Reopen, Signal } from './engine.ts'
import { isDead, thisOwner } from './owner.ts'

/*
 * Executes runs in this process.
 * 1. At most `concurrency` runs are under way; the others queue in order.
 * 2. Leases are renewed while their runs are under way; a lost lease stops its run here at once.
 * 3. Commands written by other processes are noticed within a quarter of a second, our own at once.
 */

const RENEW_MS = 10_000
const LOOK_MS = 250

export interface EmbeddedOptions {
  store: Store
  world: World
  /** Everything but `publish`, which is the engine's own. */
  ports: Omit<Ports, 'publish'>
  concurrency: number
  /** Called with an error of a listener or a hook; runs go on. */
  onListenerError: (error: Error) => void
}

interface Underway {
  /** Someone joined since we last looked for commands. */
  joined: boolean
  attempt: Attempt | undefined
  lease: Lease | undefined
  done: Promise<void>
}

export class EmbeddedEngine implements Engine {
  readonly #options: EmbeddedOptions
  readonly #ports: Ports
  readonly #owner: string
  readonly #committer: Committer
  readonly #listeners = new Set<(signal: Signal) => void>()
  readonly #underway = new Map<string, Underway>()
  readonly #queue: (() => void)[] = []
  #working = 0
  #draining = false
  #looking = false
  /** Aborted when nothing is under way any more, so that an idle engine keeps no timer. */
  #idle = new AbortController()

  constructor(options: EmbeddedOptions) {
    this.#options = options
    this.#owner = thisOwner(options.world.randomHex(4))
    this.#ports = { ...options.ports, publish: (delta) => this.#tell({ delta }) }
    this.#committer = new Committer(options.store, options.world, (events) => this.#committed(events))
  }

  get active(): readonly string[] {
    return [...this.#underway.keys()]
  }

  execute(run_id: string, reopen?: Reopen): Promise<void> {
    const already = this.#underway.get(run_id)
    if (already) {
      already.joined = true
      return already.done
    }
    const underway: Underway = { joined: false, attempt: undefined, lease: undefined, done: Promise.resolve() }
    this.#underway.set(run_id, underway)
    underway.done = this.#work(run_id, underway, reopen)
    underway.done.catch(() => {})
    void this.#keepLooking()
    return underway.done
  }

  nudge(run_id: string): void {
    void this.#underway.get(run_id)?.attempt?.look()
  }

  watch(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async drain(): Promise<void> {
    this.#draining = true
    const underway = [...this.#underway.values()]
    for (const { attempt } of underway) attempt?.pause()
    await Promise.allSettled(underway.map(({ done }) => done))
  }

  async #work(run_id: string, underway: Underway, reopen: Reopen | undefined): Promise<void> {
    await this.#turn()
    try {
      if (this.#draining) return
      let end = await this.#attempt(run_id, underway, reopen).catch((error: unknown) => refusedThen(underway, error))
      while (end === 'again' || (end === 'parked' && (await this.#calledSince(run_id, underway)))) {
        if (this.#draining) return
        end = await this.#attempt(run_id, underway, undefined).catch((error: unknown) => takenUp(error))
      }
    } finally {
      // In one move with the decision to stop: whoever comes later starts anew instead of joining what is over.
      this.#underway.delete(run_id)
      if (this.#underway.size === 0) this.#idle.abort()
      // A place is handed over, not given back: whoever asks in between would take it a second time.
      const next = this.#queue.shift()
      if (next) next()
      else this.#working -= 1
    }
  }

  /** A command written between the parking of a run and the release of its lease would wake nobody else. */
  async #calledSince(run_id: string, underway: Underway): Promise<boolean> {
    for (;;) {
      underway.joined = false
      const newer = await this.#options.store.commands(run_id, underway.attempt?.seenCommand ?? 0)
      if (newer.length > 0) return true
      if (!underway.joined) return false
    }
  }

  async #attempt(run_id: string, underway: Underway, reopen: Reopen | undefined) {
    const { store, world } = this.#options
    const lease = await store.lease(run_id, { owner: this.#owner, now: world.now(), ttl_ms: LEASE_MS, dead: isDead })
    underway.lease = lease
    underway.attempt = new Attempt({
      store,
      ports: this.#ports,
      committer: this.#committer,
      owner: this.#owner,
      lease,
      reopen,
      untold: (events) => this.#committed(events),
      trouble: (error) => this.#options.onListenerError(error),
    })
    if (this.#draining) underway.attempt.pause()
    try {
      return await underway.attempt.run()
    } finally {
      underway.lease = undefined
      await store.release(lease).catch(() => {})
    }
  }

  async #turn(): Promise<void> {
    if (this.#working < this.#options.concurrency) this.#working += 1
    else await new Promise<void>((go) => this.#queue.push(go))
  }

  /** One loop for all runs: looks for commands of other processes, renews leases. Ends when nothing is under way. */
  async #keepLooking(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    this.#idle = new AbortController()
    const { world } = this.#options
    let renewed = world.now()
    while (this.#underway.size > 0) {
      // Idle for a moment and busy again: with the old signal this loop would turn without ever waiting.
      if (this.#idle.signal.aborted) this.#idle = new AbortController()
      await world.sleep(LOOK_MS, this.#idle.signal).catch(() => {})
      for (const { attempt } of this.#underway.values()) await attempt?.look()
      if (Math.abs(world.now() - renewed) >= RENEW_MS) {
        await this.#renew()
        renewed = world.now()
      }
    }
    this.#looking = false
  }

  async #renew(): Promise<void> {
    const { store, world } = this.#options
    const leases = [...this.#underway.values()].flatMap(({ lease }) => lease ?? [])
    const until = world.now() + LEASE_MS
    try {
      const lost = new Set(await store.renew(leases, until))
      for (const lease of leases) {
        if (lost.has(lease.run_id)) this.#underway.get(lease.run_id)?.attempt?.loseLease()
        else lease.lease_until = until
      }
    } catch {
      // A store that cannot be reached now is tried again; the epoch guards every append meanwhile.
    }
  }

  #committed(events: readonly Event[]): void {
    for (const event of events) {
      for (const hooks of this.#ports.hooks) if (hooks.onEvent) this.#guarded(() => hooks.onEvent?.(event))
      if (this.#listeners.size > 0) this.#tell({ event })
    }
  }

  #tell(signal: { event: Event } | { delta: Delta }): void {
    for (const listener of this.#listeners) this.#guarded(() => listener(signal))
  }

  #guarded(call: () => void): void {
    try {
      call()
    } catch (thrown) {
      this.#options.onListenerError(asTroupeError(thrown))
    }
  }
}

/** Someone asked for the run while its lease was being lost, perhaps with an answer: the new owner may have parked it. */
function refusedThen(underway: Underway, error: unknown): 'again' {
  if (underway.joined && asTroupeError(error).code === 'lease_lost') return 'again'
  throw error
}

/** Whoever brought the command has taken the run up itself: what was to be done here is done. */
function takenUp(error: unknown): 'ended' {
  if (asTroupeError(error).code === 'run_busy') return 'ended'
  throw error
}
