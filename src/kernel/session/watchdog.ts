import { setMaxListeners } from 'node:events'
import { TroupeError } from '../../errors.ts'
import type { Execution } from '../journal/execution.ts'
import type { SessionState } from './session-state.ts'

/** Aborts a session that works longer than its agent's `timeout_ms`. Waiting for a gate does not count, nor does downtime, unless the session counts it. */
export class Watchdog {
  readonly signal: AbortSignal
  #stop: (() => void) | undefined

  constructor(execution: Execution, session: SessionState, parentSignal: AbortSignal) {
    const { key, agent, count_downtime } = session.opening
    const limit = agent.timeout_ms
    if (limit === undefined) {
      this.signal = parentSignal
      return
    }
    const controller = new AbortController()
    setMaxListeners(0, controller.signal)
    this.signal = controller.signal
    const forward = () => controller.abort(parentSignal.reason)
    if (parentSignal.aborted) forward()
    else parentSignal.addEventListener('abort', forward, { once: true })
    const { world } = execution.ports
    const startedAt = world.monotonic()
    const earlierMs = execution.journalIndex.activeMsSince(key, { downtime: count_downtime })
    const remainingMs = () => limit - earlierMs - (world.monotonic() - startedAt - execution.gateWaitMs(key))
    const check = () => {
      if (remainingMs() > 0) cancelTimer = world.after(remainingMs(), check)
      else controller.abort(sessionTimeoutError(session, limit))
    }
    // At once, not with a timer: no model request may begin, which would be paid for in vain.
    if (remainingMs() <= 0) controller.abort(sessionTimeoutError(session, limit))
    let cancelTimer = world.after(Math.max(0, remainingMs()), check)
    // While a person is asked the timer is set again and again: it must not keep the process of a parked run alive.
    const stopListening = execution.onAbandon(() => cancelTimer())
    this.#stop = () => {
      cancelTimer()
      stopListening()
      parentSignal.removeEventListener('abort', forward)
    }
  }

  stop(): void {
    this.#stop?.()
  }
}

function sessionTimeoutError({ opening }: SessionState, limit: number): TroupeError {
  return new TroupeError('timeout', `${opening.agent.name} did not finish within ${limit} ms (timeout_ms)`, {
    hint: 'resume the session to continue; its work so far is kept',
    step: opening.key,
  })
}
