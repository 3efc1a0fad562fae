import { randomBytes } from 'node:crypto'
import type { World } from '../kernel/world.ts'

/** Beyond this a timer of Node fires at once instead of late. */
const MAX_TIMER_MS = 2_147_483_647

/** The world as it is: the wall clock, the timers and the randomness of this process. */
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
    let left = ms
    let timer: NodeJS.Timeout
    const wait = () => {
      const part = Math.min(left, MAX_TIMER_MS)
      left -= part
      timer = setTimeout(left > 0 ? wait : done, part)
    }
    const done = () => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }
    const aborted = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', aborted, { once: true })
    wait()
  })
}
