import type { World } from '../kernel/world.ts'
import type { Store } from '../store/store.ts'
import type { HeldLease } from './held-lease.ts'
import { HEARTBEAT_MS, LEASE_MS, RENEW_MS } from './held-lease.ts'

/*
 * Renews the leases of the active runs of an engine.
 * 1. While it is started, every lease is renewed about every `RENEW_MS`.
 * 2. It holds a timer only while it is started: an idle engine must not keep the process alive.
 */

export interface LeaseHeartbeatDeps {
  store: Store
  world: World
  leases(): HeldLease[]
  /** Called for a lease that is no longer held. The run may have been leased again meanwhile. */
  onLost(lease: HeldLease): void
}

export class LeaseHeartbeat {
  readonly #deps: LeaseHeartbeatDeps
  #isStarted = false
  #isRenewing = false
  #renewedAt = 0
  #cancelTimer: (() => void) | undefined

  constructor(deps: LeaseHeartbeatDeps) {
    this.#deps = deps
  }

  /** Idempotent. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#renewedAt = this.#deps.world.now()
    if (!this.#isRenewing) this.#schedule()
  }

  stop(): void {
    this.#isStarted = false
    this.#cancelTimer?.()
  }

  #schedule(): void {
    this.#cancelTimer = this.#deps.world.after(HEARTBEAT_MS, () => void this.#beat())
  }

  async #beat(): Promise<void> {
    const { world } = this.#deps
    // Compared in both directions, more often than leases are renewed: the wall clock may jump.
    if (Math.abs(world.now() - this.#renewedAt) >= RENEW_MS) {
      this.#isRenewing = true
      if (await this.#renewLeases()) this.#renewedAt = world.now()
      this.#isRenewing = false
    }
    if (this.#isStarted) this.#schedule()
  }

  /** False if the store failed: retried at the next heartbeat. Until then the epoch (fencing token) guards every append. */
  async #renewLeases(): Promise<boolean> {
    const { store, world } = this.#deps
    const leases = this.#deps.leases()
    const requested_at = world.now()
    try {
      const lost = new Set(await store.renew(leases, LEASE_MS))
      for (const lease of leases) {
        if (lost.has(lease.run_id)) this.#deps.onLost(lease)
        else lease.expires_at = requested_at + LEASE_MS
      }
      return true
    } catch {
      return false
    }
  }
}
