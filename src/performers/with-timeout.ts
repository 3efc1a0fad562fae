import type { TroupeError } from '../errors.ts'
import type { World } from '../kernel/world.ts'

export interface TimeoutOptions {
  world: World
  signal: AbortSignal
  ms: number
  timeoutError(): TroupeError
  /** The longest wait when `lastBusyAt` keeps it going. Default: `ms`. */
  max_ms?: number
  /** When the work last showed that it is busy, as `world.monotonic()`; the timeout counts from then. */
  lastBusyAt?(): number
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
  const startedAt = world.monotonic()
  const checkTimeout = () => {
    const now = world.monotonic()
    const idle_ms = now - (options.lastBusyAt?.() ?? startedAt)
    const left_ms = Math.min(ms - idle_ms, (options.max_ms ?? ms) - (now - startedAt))
    if (left_ms <= 0) stop(options.timeoutError())
    else cancelTimer = world.after(left_ms, checkTimeout)
  }
  let cancelTimer = world.after(ms, checkTimeout)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    work.then(resolve, reject)
    return await promise
  } finally {
    cancelTimer()
    signal.removeEventListener('abort', onAbort)
  }
}
