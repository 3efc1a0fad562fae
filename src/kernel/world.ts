/**
 * The clock, timers and randomness, injected. Kernel and patterns use nothing else, so that a simulated world can replay
 * a run deterministically.
 */
export interface World {
  /** Wall clock time in milliseconds since the epoch. */
  now(): number
  /** Milliseconds for measuring durations: a clock that is set does not move them, and on Linux neither does a suspended machine. */
  monotonic(): number
  /** Resolves after `ms`; an abort rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `task` after `ms`; the returned function cancels it. */
  after(ms: number, task: () => void): () => void
  /** Runs `task` after everything already queued, at the end of this turn of the event loop. */
  defer(task: () => void): void
  /** `bytes` random bytes in hex. */
  randomHex(bytes: number): string
  /** A number in [0, 1). */
  random(): number
}

/** Rejects on abort, even if `promise` never settles; removes its listener afterwards. */
export function withAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Environment variables by name. Adapters get them as an option instead of reading `process.env`. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>
