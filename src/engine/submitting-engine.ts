import { TroupeError } from '../errors.ts'
import { unknownRunError } from '../store/preconditions.ts'
import { needsExecution } from './claimable-runs.ts'
import type { EndedRun, Engine, EngineParts } from './engine.ts'

/** Polled, as for a lease: a process that executes the run may be on another machine. */
const POLL_MS = 250

/** Stores runs and commands, and waits for the process that executes them. */
export class SubmittingEngine implements Engine {
  readonly #parts: Pick<EngineParts, 'store' | 'world'>
  readonly #drain = new AbortController()
  readonly active: readonly string[] = []

  constructor(parts: Pick<EngineParts, 'store' | 'world'>) {
    this.#parts = parts
  }

  async start(start: Parameters<Engine['start']>[0]): ReturnType<Engine['start']> {
    await this.#parts.store.createRun(start)
    const done = this.#waitForEnd(start.run_id)
    done.catch(() => {})
    return { done }
  }

  async submit(...[run_id, reopen]: Parameters<Engine['submit']>): Promise<EndedRun | undefined> {
    if (reopen) throw noExecutionError(`run ${run_id} has to be continued by a process that executes runs`)
    return this.#waitForEnd(run_id)
  }

  execute(...request: Parameters<Engine['submit']>): Promise<EndedRun | undefined> {
    return this.submit(...request)
  }

  async claim(): Promise<undefined> {
    throw noExecutionError('`execute` is false: this troupe claims no runs')
  }

  subscribe(): () => void {
    return () => {}
  }

  async drain(): Promise<void> {
    this.#drain.abort()
  }

  /** Resolves when the run has ended, waits for a person, or nobody waits for it any more. */
  async #waitForEnd(run_id: string): Promise<undefined> {
    const { store, world } = this.#parts
    for (;;) {
      const row = await store.run(run_id)
      if (!row) throw unknownRunError(run_id)
      if (this.#drain.signal.aborted || !(await needsExecution(store, row))) return undefined
      await world.sleep(POLL_MS, this.#drain.signal).catch(() => {})
    }
  }
}

function noExecutionError(message: string): TroupeError {
  return new TroupeError('invalid_input', message, {
    hint: 'call it in the process that calls `troupe.work()`, or use `troupe resume RUN`',
  })
}
