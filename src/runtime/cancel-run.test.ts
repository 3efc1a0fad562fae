import { describe, expect, test } from 'vitest'
import { chunkModel, textChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe } from '../../test/support/test-troupe.ts'

const go = { agent: 'worker', instruction: 'go' }

/** A troupe whose model has been requested and never responds. */
async function troupeWithPendingRequest(store = memoryStore()) {
  const requested = Promise.withResolvers<void>()
  const model = chunkModel(() => {
    requested.resolve()
    return new Promise<never>(() => {})
  })
  const { troupe } = await createTestTroupe({ store, agents: [agent('worker')], model })
  return { troupe, requested: requested.promise }
}

describe('cancelling a run from the program that started it', () => {
  test('P11 aborting `signal` ends the run as cancelled, with the reason of the signal', async () => {
    const { troupe, requested } = await troupeWithPendingRequest()
    const controller = new AbortController()
    const running = troupe.run('task', go, { signal: controller.signal })
    await requested
    controller.abort(new Error('the user closed the page'))
    const result = await running
    expect(result).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled' })
    const events = await troupe.events(result.run_id).all()
    expect(events.find(({ type }) => type === 'run:cancel')?.data).toMatchObject({ reason: 'the user closed the page' })
  })

  test('P11 a signal that is already aborted starts no run', async () => {
    const { troupe } = await troupeWithPendingRequest()
    const reason = new Error('too late')
    await expect(troupe.run('task', go, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(await troupe.runs().all()).toEqual([])
  })

  test('P11 aborting `signal` after the end of the run changes nothing', async () => {
    const { troupe } = await createTestTroupe({
      agents: [agent('worker')],
      model: chunkModel(() => textChunks('done')),
    })
    const controller = new AbortController()
    const { run_id, status } = await troupe.run('task', go, { signal: controller.signal })
    const before = await troupe.events(run_id).all()
    controller.abort()
    expect(status).toBe('completed')
    expect(await troupe.events(run_id).all()).toEqual(before)
  })

  test('P11 `cancel()` of a handle ends the run and resolves with its result', async () => {
    const { troupe, requested } = await troupeWithPendingRequest()
    const handle = await troupe.stream('task', go)
    await requested
    expect(await handle.cancel('not needed')).toMatchObject({ run_id: handle.run_id, status: 'cancelled' })
    expect(await handle.result).toMatchObject({ status: 'cancelled' })
  })
})
