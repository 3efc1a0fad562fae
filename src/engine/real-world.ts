import { randomFillSync } from 'node:crypto'
import type { World } from '../kernel/world.ts'

/** Node fires a timer with a longer delay at once (32-bit overflow). */
const MAX_TIMER_MS = 2_147_483_647

/** Random bytes fetched from the system at once: one fetch per id would cost more than the rest of creating a run. */
const RANDOM_POOL_BYTES = 4096

/** The wall clock, timers and randomness of this process. */
export function realWorld(): World {
  const randomBytes = randomPool()
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep,
    after,
    defer: (task) => void setImmediate(task),
    randomHex: (count) => randomBytes(count).toString('hex'),
    random: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  }
}

/** Returns fresh random bytes, each byte once. The result is a view: use it before the next call. */
function randomPool(): (count: number) => Buffer {
  const pool = Buffer.allocUnsafe(RANDOM_POOL_BYTES)
  let used = RANDOM_POOL_BYTES
  return (count) => {
    if (count > RANDOM_POOL_BYTES) return randomFillSync(Buffer.allocUnsafe(count))
    if (used + count > RANDOM_POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    used += count
    return pool.subarray(used - count, used)
  }
}

function after(ms: number, task: () => void): () => void {
  let timer: NodeJS.Timeout
  const wait = (remaining: number) => {
    timer =
      remaining > MAX_TIMER_MS
        ? setTimeout(() => wait(remaining - MAX_TIMER_MS), MAX_TIMER_MS)
        : setTimeout(task, remaining)
  }
  wait(ms)
  return () => clearTimeout(timer)
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const cancel = after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
