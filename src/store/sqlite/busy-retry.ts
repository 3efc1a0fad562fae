import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy, lockedError, toStoreError } from './sqlite-errors.ts'

/** Retries with exponential backoff while another connection holds the lock. Converts other errors to `store_…` codes. */
export async function retryWhileBusy<T>(path: string, busy_ms: number, attempt: () => T): Promise<T> {
  let waited = 0
  for (let backoff = 1; ; backoff = Math.min(backoff * 1.5, 40)) {
    try {
      return attempt()
    } catch (thrown) {
      if (!isBusy(thrown)) throw toStoreError(thrown, path)
      if (waited > busy_ms) throw lockedError(path)
    }
    // Jitter: without it, two processes that collided once would collide at every retry.
    const delay = backoff * (0.5 + Math.random())
    waited += delay
    await sleep(delay)
  }
}
