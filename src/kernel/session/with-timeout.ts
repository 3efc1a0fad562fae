import type { TroupeError } from '../../errors.ts'
import type { World } from '../world.ts'

export interface TimeoutOptions {
  world: World
  signal: AbortSignal
  ms: number
  timeoutError(): TroupeError
  /** Called with the reason when the timeout or an abort ends the wait. */
  onStop?(reason: unknown): void
}

/** Awaits third-party code (a tool, a hook) that may never settle: rejects on timeout and on abort. */
export async function withTimeout<T>(options: TimeoutOptions, work: Promise<T>): Promise<T> {
  const { world, signal, ms } = options
  // Without a handler, a rejection after the timeout would be unhandled and end the process.
  work.catch(() => {})
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const stop = (reason: unknown) => {
    options.onStop?.(reason)
    reject(reason)
  }
  const onAbort = () => stop(signal.reason)
  const cancelTimer = world.after(ms, () => stop(options.timeoutError()))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    work.then(resolve, reject)
    return await promise
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onAbort)
  }
}
