import type { World } from '../kernel/world.ts'
import type { Lease, Store } from '../store/store.ts'
import { isOwnerDead } from './lease-owner.ts'

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

/** A lease expires this long after its last renewal. */
export const LEASE_MS = 30_000
/** Renewed often, so that it is known when a killed process died: its model requests cannot have cost more than until then. */
export const RENEW_MS = 5000
export const HEARTBEAT_MS = 1000
/** Tolerance for a heartbeat that was late. */
const LATE_MS = 3000

/** A lease with its expiry by the clock of this process, which may differ from the clock of the store. */
export interface HeldLease extends Lease {
  expires_at: number
}

/** Counts from before the request: the store counts from a later moment, so the lease never expires there first. */
export function holdLease(lease: Lease, requested_at: number): HeldLease {
  return { ...lease, expires_at: requested_at + LEASE_MS }
}

/** The latest time at which the owner before can have sent or received something: until now, unless it is dead. */
export function diedBy({ taken_from }: Lease, now: number): number {
  if (!taken_from || !isOwnerDead(taken_from.owner)) return now
  return Math.min(now, taken_from.lease_until - LEASE_MS + RENEW_MS + HEARTBEAT_MS + LATE_MS)
}
