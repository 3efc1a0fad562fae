import { setMaxListeners } from 'node:events'
import { TroupeError } from '../errors.ts'
import type { Execution } from './execution.ts'
import type { SessionState } from './session.ts'

/** Ends a session that works longer than its agent may. Time in which a human is asked does not count. */
export class Watchdog {
  readonly signal: AbortSignal
  #stop: (() => void) | undefined

  constructor(x: Execution, session: SessionState, above: AbortSignal) {
    const limit = session.open.agent.timeout_ms
    if (limit === undefined) {
      this.signal = above
      return
    }
    const own = new AbortController()
    setMaxListeners(0, own.signal)
    this.signal = own.signal
    const forward = () => own.abort(above.reason)
    if (above.aborted) forward()
    else above.addEventListener('abort', forward, { once: true })
    const { world } = x.ports
    const started = world.now()
    const before = x.recorded.workedSince(session.open.key)
    const left = () => limit - before - (world.now() - started - x.waitedUnder(session.open.key))
    const look = () => {
      if (left() > 0) cancel = world.after(left(), look)
      else own.abort(overdue(session, limit))
    }
    let cancel = world.after(Math.max(0, left()), look)
    this.#stop = () => {
      cancel()
      above.removeEventListener('abort', forward)
    }
  }

  stop(): void {
    this.#stop?.()
  }
}

function overdue({ open }: SessionState, limit: number): TroupeError {
  return new TroupeError('timeout', `${open.agent.name} did not finish within ${limit} ms`, {
    hint: 'what it had done is kept; resume its session to let it go on',
    step: open.key,
  })
}
