import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy, lockedError, toStoreError } from './sqlite-errors.ts'

/** Tries until no other connection's lock is in the way; other failures are told in the operator's words. */
export async function retryWhileBusy<T>(path: string, busy_ms: number, attempt: () => T): Promise<T> {
  let waited = 0
  for (let pause = 1; ; pause = Math.min(pause * 1.5, 40)) {
    try {
      return attempt()
    } catch (thrown) {
      if (!isBusy(thrown)) throw toStoreError(thrown, path)
      if (waited > busy_ms) throw lockedError(path)
    }
    // Without jitter two processes that met once would meet again at every attempt.
    const jittered = pause * (0.5 + Math.random())
    waited += jittered
    await sleep(jittered)
  }
}
