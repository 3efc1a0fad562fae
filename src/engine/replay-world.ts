import type { World } from '../kernel/world.ts'

/** A world in which no time passes by itself: a timer fires when the replay says that it did. */
export interface ReplayWorld extends World {
  /** The next timer is that of the session with this key. */
  keyNextTimer(key: string): void
  /** Lets the time of the session with this key run out. */
  expireTimer(key: string): void
}

export function replayWorld(start: number): ReplayWorld {
  let now = start
  let next: string | undefined
  const timers = new Set<{ key: string | undefined; ms: number; fire(): void }>()
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
          key: next,
          fire() {
            timers.delete(timer)
            signal?.removeEventListener('abort', aborted)
            resolve()
          },
        }
        next = undefined
        timers.add(timer)
        signal?.addEventListener('abort', aborted, { once: true })
      }),
    after(ms, task) {
      const timer = {
        ms,
        key: next,
        fire() {
          timers.delete(timer)
          task()
        },
      }
      next = undefined
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    keyNextTimer(key) {
      next = key
    },
    expireTimer(key) {
      const timer = [...timers].find((candidate) => candidate.key === key)
      now += timer?.ms ?? 0
      timer?.fire()
    },
  }
}
