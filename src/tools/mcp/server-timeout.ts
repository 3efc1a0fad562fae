import type { World } from '../../kernel/world.ts'
import { withAbort } from '../../kernel/world.ts'
import { withTimer } from '../with-timer.ts'

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
  const signal = AbortSignal.any([timeout.signal, end])
  signal.throwIfAborted()
  const onTime = () => timeout.abort(new Error(`it did not ${action} within ${ms} ms`))
  return withTimer(clock.sleep, { ms, onTime }, () => withAbort(work(signal), signal))
}
