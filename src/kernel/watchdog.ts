import { setMaxListeners } from 'node:events'
import { TroupeError } from '../errors.ts'
import type { Execution } from './execution.ts'
import type { SessionState } from './session.ts'

/** Ends a session that works longer than its agent may. Time in which a human is asked does not count. */
export class Watchdog {
  readonly signal: AbortSignal
  readonly #over = new AbortController()
  readonly #unlisten: (() => void) | undefined

  constructor(x: Execution, session: SessionState, above: AbortSignal) {
    const limit = session.open.agent.timeout_ms
    if (limit === undefined) {
      this.signal = above
      return
    }
    const own = new AbortController()
    setMaxListeners(0, own.signal)
    const forward = () => own.abort(above.reason)
    if (above.aborted) forward()
    else above.addEventListener('abort', forward, { once: true })
    this.#unlisten = () => above.removeEventListener('abort', forward)
    this.signal = own.signal
    void this.#watch(x, session, limit, own)
  }

  stop(): void {
    this.#unlisten?.()
    this.#over.abort()
  }

  async #watch(x: Execution, session: SessionState, limit: number, own: AbortController): Promise<void> {
    const { world } = x.ports
    const started = world.now()
    const before = x.recorded.workedSince(session.open.key)
    const left = () => limit - before - (world.now() - started - x.waitedUnder(session.open.key))
    try {
      while (left() > 0) await world.sleep(left(), this.#over.signal)
    } catch {
      return
    }
    own.abort(
      new TroupeError('timeout', `${session.open.agent.name} did not finish within ${limit} ms`, {
        hint: 'what it had done is kept; resume its session to let it go on',
        step: session.open.key,
      }),
    )
  }
}
