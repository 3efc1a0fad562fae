import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy, keptLocked, storeFailure } from './failure.ts'

/** Tries until no other connection's lock is in the way; other failures are told in the operator's words. */
export async function untilFree<T>(path: string, busy_ms: number, attempt: () => T): Promise<T> {
  let waited = 0
  for (let pause = 1; ; pause = Math.min(pause * 1.5, 40)) {
    try {
      return attempt()
    } catch (thrown) {
      if (!isBusy(thrown)) throw storeFailure(thrown, path)
      if (waited > busy_ms) throw keptLocked(path)
    }
    // Without jitter two processes that met once would meet again at every attempt.
    const jittered = pause * (0.5 + Math.random())
    waited += jittered
    await sleep(jittered)
  }
}
