/** The state of a token bucket at a time of the store's clock. */
export interface BucketState {
  /** Negative when more was taken than there was. */
  level: number
  at: number
}

/** Takes tokens out of a bucket that refills steadily. */
export interface TokenTake {
  /** Identifies the bucket, for every process of the store. */
  key: string
  capacity: number
  refill_per_minute: number
  amount: number
  /** Takes the tokens even if there are not enough: they were used already. */
  force?: true
}

/** The state after taking the tokens; or, if there are not enough, how long to wait. A new bucket is full. */
export function takeFromBucket(
  state: BucketState | undefined,
  { capacity, refill_per_minute, amount, force }: TokenTake,
  now: number,
): { state: BucketState; wait_ms: number } {
  const rate = refill_per_minute / 60_000
  // The clock may be set back: a bucket never loses tokens by that.
  const elapsed = state ? Math.max(0, now - state.at) : 0
  const level = state ? Math.min(capacity, state.level + elapsed * rate) : capacity
  const at = Math.max(now, state?.at ?? now)
  if (force || level >= amount) return { state: { level: level - amount, at }, wait_ms: 0 }
  return { state: { level, at }, wait_ms: Math.max(1, Math.ceil((amount - level) / rate)) }
}
