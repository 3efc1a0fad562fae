import type { World } from '../kernel/world.ts'

/** A world in which no time passes by itself: a timer fires when the replay says that it did. */
export interface ReplayWorld extends World {
  /** Lets the oldest timer of this length run out; false when there is none. */
  expire(ms: number): boolean
}

export function replayWorld(start: number): ReplayWorld {
  let now = start
  const timers = new Set<{ ms: number; fire(): void }>()
  return {
    now: () => now,
    random: () => 0.5,
    randomHex: (bytes) => '0'.repeat(bytes * 2),
    defer: (task) => void setImmediate(task),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const aborted = () => {
          timers.delete(timer)
          reject(signal?.reason)
        }
        const timer = {
          ms,
          fire() {
            timers.delete(timer)
            signal?.removeEventListener('abort', aborted)
            resolve()
          },
        }
        timers.add(timer)
        signal?.addEventListener('abort', aborted, { once: true })
      }),
    expire(ms) {
      const timer = [...timers].find((candidate) => candidate.ms === ms)
      now += timer ? ms : 0
      timer?.fire()
      return timer !== undefined
    },
  }
}
