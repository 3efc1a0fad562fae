import { hasUnreadCommand } from '../../src/engine/claimable-runs.ts'
import type { Engine, EngineParts } from '../../src/engine/engine.ts'
import { TroupeError } from '../../src/errors.ts'

/** An engine that executes nothing: it leaves runs in the store for other processes and waits until they stop. */
export function submitOnlyEngine({ store }: EngineParts): Engine {
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
