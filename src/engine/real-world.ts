import { randomBytes } from 'node:crypto'
import type { World } from '../kernel/world.ts'

/** Node fires a timer with a longer delay at once (32-bit overflow). */
const MAX_TIMER_MS = 2_147_483_647

/** The wall clock, timers and randomness of this process. */
export function realWorld(): World {
  return {
    now: () => Date.now(),
    sleep,
    after(ms, task) {
      const timer = setTimeout(task, Math.min(ms, MAX_TIMER_MS))
      return () => clearTimeout(timer)
    },
    defer: (task) => void setImmediate(task),
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    random: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  }
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let remaining = ms
    let timer: NodeJS.Timeout
    const wait = () => {
      const delay = Math.min(remaining, MAX_TIMER_MS)
      remaining -= delay
      timer = setTimeout(remaining > 0 ? wait : finish, delay)
    }
    const finish = () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    wait()
  })
}
