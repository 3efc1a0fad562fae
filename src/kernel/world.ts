/**
 * Everything a run could otherwise read from nowhere: the clock, timers, ids, randomness. Kernel and patterns take
 * them from here, so that a simulated world can replay a run move by move.
 */
export interface World {
  /** Milliseconds since the epoch, by the wall clock. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `task` after `ms`, unless the returned function is called before. */
  after(ms: number, task: () => void): () => void
  /** Runs `task` once everything already queued has run: the end of this turn of the event loop. */
  defer(task: () => void): void
  /** `bytes` random bytes in hex. */
  randomHex(bytes: number): string
  /** A number in [0, 1). */
  random(): number
}

/** Lets an effect outlive nothing: races a promise against an abort, and takes its listener away again. */
export function withAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise<T>((resolve, reject) => {
    const aborted = () => reject(signal.reason)
    signal.addEventListener('abort', aborted, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted))
  })
}

/** Environment variables by name. Adapters get them as an option instead of reading `process.env`. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>
