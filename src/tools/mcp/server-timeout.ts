import type { World } from '../../kernel/world.ts'
import { withAbort } from '../../kernel/world.ts'

type Clock = Pick<World, 'sleep'>

/** Whoever watches a session begin should know by then what it waits for. */
export const SLOW_START_MS = 2000

/** Work that is given up after a time, or when all is at an end. */
export async function withServerTimeout<T>(
  clock: Clock,
  { ms, what, end }: { ms: number; what: string; end: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const done = new AbortController()
  const signal = AbortSignal.any([late.signal, end])
  signal.throwIfAborted()
  const timer = clock.sleep(ms, done.signal).then(
    () => late.abort(new Error(`it did not ${what} within ${ms} ms`)),
    () => {},
  )
  try {
    return await withAbort(work(signal), signal)
  } finally {
    done.abort()
    await timer
  }
}

/** Work that is spoken of when it takes long. */
export async function notifyIfSlow<T>(clock: Clock, notice: () => void, work: () => Promise<T>): Promise<T> {
  const done = new AbortController()
  const timer = clock.sleep(SLOW_START_MS, done.signal).then(notice, () => {})
  try {
    return await work()
  } finally {
    done.abort()
    await timer
  }
}
