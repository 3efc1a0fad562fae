import { hasUnreadCommand } from '../../src/engine/claimable-runs.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { TroupeError } from '../../src/errors.ts'
import { compose } from '../../src/runtime/compose.ts'
import { lazy } from '../../src/runtime/lazy.ts'
import type { Troupe } from '../../src/runtime/troupe.ts'
import { assembleTroupe } from '../../src/runtime/troupe.ts'
import type { TroupeOptions } from '../../src/runtime/troupe-options.ts'
import type { Store } from '../../src/store/store.ts'

/** A troupe that executes nothing, as a process without a free slot: it leaves runs in the store for other processes. */
export async function createSubmitOnlyTroupe(options: TroupeOptions): Promise<Troupe> {
  const parts = await compose(options)
  const engine = submitOnlyEngine(parts.store)
  return assembleTroupe({ ...parts, execution: lazy(async () => ({ ...(await parts.execution.get()), engine })) })
}

/** Waits until other processes have stopped a run. */
function submitOnlyEngine(store: Store): Engine {
  const drained = new AbortController()
  const isStopped = async (run_id: string) => {
    const row = await store.run(run_id)
    if (row?.status === 'pending' || row?.status === 'running') return false
    return row?.status !== 'waiting' || (row.owner === null && !(await hasUnreadCommand(store, run_id)))
  }
  const submit = async (run_id: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const check = () => void isStopped(run_id).then((stopped) => stopped && resolve(), reject)
    const unsubscribe = store.changes.subscribe(check)
    drained.signal.addEventListener('abort', () => resolve())
    check()
    await promise.finally(unsubscribe)
    return undefined
  }
  return {
    active: [],
    start: async (start) => {
      await store.createRun(start)
      return { done: submit(start.run_id) }
    },
    submit,
    claim: async () => undefined,
    execute: async (run_id) => {
      throw new TroupeError('run_busy', `run ${run_id} is executed by other processes`)
    },
    subscribe: () => () => {},
    drain: async () => drained.abort(),
  }
}
