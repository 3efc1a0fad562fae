import type { TroupeError } from '../../errors.ts'
import type { World } from '../world.ts'

export interface TimeoutOptions {
  world: World
  signal: AbortSignal
  ms: number
  /** The error when the time is up. */
  timeoutError(): TroupeError
  /** Told why nobody waits any more. */
  onStop?(reason: unknown): void
}

/** Waits for somebody else's code: no longer than its time, and not past an abort. */
export async function withTimeout<T>(patience: TimeoutOptions, work: Promise<T>): Promise<T> {
  const { signal } = patience
  work.catch(() => {})
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const stop = (reason: unknown) => {
    patience.onStop?.(reason)
    reject(reason)
  }
  const aborted = () => stop(signal.reason)
  const cancel = patience.world.after(patience.ms, () => stop(patience.timeoutError()))
  signal.addEventListener('abort', aborted, { once: true })
  try {
    work.then(resolve, reject)
    return await promise
  } finally {
    cancel()
    signal.removeEventListener('abort', aborted)
  }
}
