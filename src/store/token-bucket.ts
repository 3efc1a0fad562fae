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

export interface TakenTokens {
  /** The new state; `undefined` if it is not to be stored. */
  state: BucketState | undefined
  /** 0 if the tokens were taken. */
  wait_ms: number
}

/** Takes the tokens; if there are not enough, tells how long to wait. A new bucket is full. */
export function takeFromBucket(
  state: BucketState | undefined,
  { capacity, refill_per_minute, amount, force }: TokenTake,
  now: number,
): TakenTokens {
  const rate = refill_per_minute / 60_000
  const wasSetBack = state !== undefined && now < state.at
  const elapsed = state && !wasSetBack ? now - state.at : 0
  const level = state ? Math.min(capacity, state.level + elapsed * rate) : capacity
  if (force || level >= amount) return { state: { level: level - amount, at: now }, wait_ms: 0 }
  const wait_ms = Math.max(1, Math.ceil((amount - level) / rate))
  // A clock that was set back: stored, so that the bucket refills from now on and not only from its future time on.
  return { state: wasSetBack ? { level, at: now } : undefined, wait_ms }
}
