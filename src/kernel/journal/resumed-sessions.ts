import { setMaxListeners } from 'node:events'
import { TroupeError } from '../../errors.ts'
import { Branch } from './parallel.ts'

/*
 * Background sessions go on as soon as their run is resumed, even if the call that started them has returned.
 * 1. In a reopened run, one that the code has not reached when its key is cut ends without a trace: it would work for a session that is worked out anew,
 *    and hold the keys of its successor.
 */

interface ResumedSession {
  id: Promise<string>
  /** Ends it, unless the code has reached it. */
  ending?: AbortController
}

export class ResumedSessions {
  readonly #sessions = new Map<string, ResumedSession>()

  start(
    key: string,
    { signal: outer, isCutDue }: { signal: AbortSignal; isCutDue: boolean },
    start: (signal: AbortSignal) => Promise<string>,
  ): void {
    const ending = isCutDue ? new AbortController() : undefined
    const signal = ending ? AbortSignal.any([outer, ending.signal]) : outer
    setMaxListeners(0, signal)
    const id = ending ? new Branch(() => checkNotEnded(signal)).run(() => start(signal)) : start(signal)
    id.catch(() => {})
    this.#sessions.set(key, { id, ...(ending ? { ending } : undefined) })
  }

  /** The code has reached this key: the id of its session, if that goes on already. */
  reach(key: string): Promise<string> | undefined {
    const session = this.#sessions.get(key)
    delete session?.ending
    return session?.id
  }

  isUnreached(key: string): boolean {
    return this.#sessions.get(key)?.ending !== undefined
  }

  /** Ends a session that was cut; false if the code has reached it, or it was not resumed. */
  end(key: string): boolean {
    const ending = this.#sessions.get(key)?.ending
    if (!ending) return false
    const hint = 'see its successor with: troupe show RUN'
    ending.abort(new TroupeError('cancelled', `the session at '${key}' was named by \`run:cut\``, { hint }))
    return this.#sessions.delete(key)
  }
}

/** Before its first effect after the cut. */
async function checkNotEnded(signal: AbortSignal): Promise<() => void> {
  signal.throwIfAborted()
  return () => {}
}
