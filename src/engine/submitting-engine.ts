import { TroupeError } from '../errors.ts'
import { unknownRunError } from '../store/preconditions.ts'
import { needsExecution } from './claimable-runs.ts'
import type { EndedRun, Engine, EngineParts } from './engine.ts'
import { hasCancelCommand } from './executable-run.ts'

/** Polled, as for a lease: a process that executes the run may be on another machine. */
const POLL_MS = 250

/** Stores runs and commands, and waits for the process that executes them. Only a run that is cancelled is ended here. */
export class SubmittingEngine implements Engine {
  readonly #parts: Pick<EngineParts, 'store' | 'world'>
  readonly #canceller: Engine
  readonly #drain = new AbortController()
  readonly active: readonly string[] = []
  readonly onlySubmits = true

  /** `canceller` ends runs that are cancelled. */
  constructor(parts: Pick<EngineParts, 'store' | 'world'>, canceller: Engine) {
    this.#parts = parts
    this.#canceller = canceller
  }

  async start(start: Parameters<Engine['start']>[0]): ReturnType<Engine['start']> {
    await this.#parts.store.createRun(start)
    const wait = () => this.#waitForEnd(start.run_id)
    return {
      get done() {
        return wait()
      },
    }
  }

  async submit(...[run_id, reopen]: Parameters<Engine['submit']>): Promise<EndedRun | undefined> {
    if (reopen) throw noExecutionError(`run ${run_id} has to be continued by a process that executes runs`)
    return this.#waitForEnd(run_id)
  }

  async execute(run_id: string): Promise<EndedRun | undefined> {
    if (await hasCancelCommand(this.#parts.store, run_id)) return this.#canceller.execute(run_id)
    throw noExecutionError('`execute` is false: this troupe executes no runs')
  }

  async claim(): Promise<undefined> {
    throw noExecutionError('`execute` is false: this troupe claims no runs')
  }

  subscribe(): () => void {
    return () => {}
  }

  async drain(): Promise<void> {
    this.#drain.abort()
    await this.#canceller.drain()
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
