import type { World } from '../../kernel/world.ts'
import { withAbort } from '../../kernel/world.ts'

type Clock = Pick<World, 'sleep'>

/** A start that takes longer is reported, so that a person knows what the session waits for. */
export const SLOW_START_MS = 2000

/** Runs `work` with a timeout; also aborts when `end` aborts. */
export async function withServerTimeout<T>(
  clock: Clock,
  { ms, action, end }: { ms: number; action: string; end: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController()
  const done = new AbortController()
  const signal = AbortSignal.any([timeout.signal, end])
  signal.throwIfAborted()
  const timer = clock.sleep(ms, done.signal).then(
    () => timeout.abort(new Error(`it did not ${action} within ${ms} ms`)),
    () => {},
  )
  try {
    return await withAbort(work(signal), signal)
  } finally {
    done.abort('done')
    await timer
  }
}

/** Runs `work` and calls `notice` once if it is slow. */
export async function notifyIfSlow<T>(clock: Clock, notice: () => void, work: () => Promise<T>): Promise<T> {
  const done = new AbortController()
  const timer = clock.sleep(SLOW_START_MS, done.signal).then(notice, () => {})
  try {
    return await work()
  } finally {
    done.abort('done')
    await timer
  }
}
