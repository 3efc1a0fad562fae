import { setMaxListeners } from 'node:events'
import { TroupeError } from '../../errors.ts'
import type { Execution } from '../journal/execution.ts'
import type { SessionState } from './session-state.ts'

/** Ends a session that works longer than its agent may. Time in which a human is asked does not count. */
export class Watchdog {
  readonly signal: AbortSignal
  #stop: (() => void) | undefined

  constructor(execution: Execution, session: SessionState, above: AbortSignal) {
    const limit = session.opening.agent.timeout_ms
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
    const { world } = execution.ports
    const started = world.now()
    const before = execution.journalIndex.activeMsSince(session.opening.key)
    const left = () => limit - before - (world.now() - started - execution.gateWaitMs(session.opening.key))
    const look = () => {
      if (left() > 0) cancel = world.after(left(), look)
      else own.abort(sessionTimeoutError(session, limit))
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

function sessionTimeoutError({ opening }: SessionState, limit: number): TroupeError {
  return new TroupeError('timeout', `${opening.agent.name} did not finish within ${limit} ms`, {
    hint: 'what it had done is kept; resume its session to let it go on',
    step: opening.key,
  })
}
