import type { Lease } from '../store/store.ts'
import { isOwnerDead } from './lease-owner.ts'

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
