import type { World } from '../kernel/world.ts'

/** A world whose clock stands still: timers fire only when the replay expires them. */
export interface ReplayWorld extends World {
  /** Marks the next timer as the time limit of the session with this key. */
  keyNextTimer(key: string): void
  /** Fires the timer of the session with this key. */
  expireTimer(key: string): boolean
}

interface ReplayTimer {
  key: string | undefined
  ms: number
  fire(): void
}

export function replayWorld(start: number): ReplayWorld {
  let now = start
  let nextKey: string | undefined
  const timers = new Set<ReplayTimer>()
  const after: World['after'] = (ms, task) => {
    const timer: ReplayTimer = {
      ms,
      key: nextKey,
      fire() {
        timers.delete(timer)
        task()
      },
    }
    nextKey = undefined
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  return {
    now: () => now,
    monotonic: () => now,
    random: () => 0.5,
    randomHex: (bytes) => '0'.repeat(bytes * 2),
    defer: (task) => void setImmediate(task),
    after,
    sleep: (ms, signal) => sleepWith(after, ms, signal),
    keyNextTimer(key) {
      nextKey = key
    },
    expireTimer(key) {
      const timer = [...timers].find((candidate) => candidate.key === key)
      now += timer?.ms ?? 0
      timer?.fire()
      return timer !== undefined
    },
  }
}

function sleepWith(after: World['after'], ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
