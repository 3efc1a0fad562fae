import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  flushEventLoop,
  patternFrom,
  pausableStore,
  textChunks,
  toolCallChunks,
} from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe } from '../../../test/support/test-troupe.ts'
import { TroupeError } from '../../errors.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { defineTool } from '../../tools/define-tool.ts'

const worker = agent('worker')

function tool(name: string, kind: 'read' | 'act', execute: () => Promise<{ success: boolean; output?: unknown }>) {
  return defineTool({ name, description: name, input: z.object({}), category: 'action', kind, execute })
}

const done = async () => ({ success: true, output: 'done' })

describe('write-ahead', () => {
  test('J2 a model is not called before model:begin is in the store', async () => {
    const { store, pause, resume, appends } = pausableStore()
    const model = chunkModel(() => textChunks('hello'))
    const { task } = await createTestTroupe({ store, model, agents: [worker] })
    pause()
    const running = task('worker', 'go')
    await flushEventLoop()
    expect(appends.flatMap(({ events }) => events.map(({ type }) => type))).toContain('model:begin')
    expect(model.requests).toHaveLength(0)
    resume()
    expect((await running).status).toBe('completed')
    expect(model.requests).toHaveLength(1)
  })

  test.each(['read', 'act'] as const)('J2 a tool (%s) is not called before tool:pre is in the store', async (kind) => {
    const { store, pause, resume, appends } = pausableStore()
    let called = 0
    const model = chunkModel(chunksByTurn(toolCallChunks({ name: 'look' }), textChunks('seen')))
    const look = tool('look', kind, async () => {
      called += 1
      return { success: true }
    })
    const { task } = await createTestTroupe({
      store,
      model: chunkModel((request, signal) => {
        if (request.session.turn === 1) queueMicrotask(pause)
        return model.stream(request, signal)
      }),
      agents: [worker],
      tools: [look],
    })
    const running = task('worker', 'go')
    await flushEventLoop(10)
    expect([appends.at(-1)?.events.at(-1)?.type, called]).toEqual(['tool:pre', 0])
    resume()
    expect([(await running).status, called]).toEqual(['completed', 1])
  })

  test('J2 code between effects does not wait for the store', async () => {
    const { store, pause, resume } = pausableStore()
    const steps: number[] = []
    const plain = patternFrom('plain', async (context) => {
      pause()
      for (let n = 0; n < 3; n++) steps.push(await context.step(`${n}`, () => n))
      return steps
    })
    const { troupe } = await createTestTroupe({ store, model: chunkModel(() => []), patterns: [plain] })
    const running = troupe.run('plain', {})
    await flushEventLoop()
    expect(steps).toEqual([0, 1, 2])
    resume()
    expect((await running).output).toEqual([0, 1, 2])
  })

  test('J7 actions, gate answers and stops of a run are written with full sync, model requests and reads are not', async () => {
    const { store, appends } = pausableStore()
    const model = chunkModel(
      chunksByTurn(
        toolCallChunks({ name: 'look' }),
        toolCallChunks({ name: 'push' }),
        toolCallChunks({ name: 'ask_user', input: { question: 'ok?' } }),
        textChunks('done'),
      ),
    )
    const { troupe, task } = await createTestTroupe({
      store,
      model,
      agents: [worker],
      tools: [tool('look', 'read', done), tool('push', 'act', done)],
    })
    const { gates } = await task('worker', 'go')
    await (await troupe.answer(gates[0]?.gate_id ?? '', 'yes')).result
    const synced = appends.filter(({ sync }) => sync === 'full').map(({ events }) => events.at(-1))
    const types = synced.map((event) => event?.type)
    expect(types).toEqual(['tool:pre', 'run:park', 'gate:answer', 'run:end'])
    expect(synced[0]?.data).toMatchObject({ tool: 'push' })
  })

  test('J5 when the store fails, the run stops with the error and can be resumed later', async () => {
    const controlled = pausableStore()
    const model = chunkModel(chunksByTurn(toolCallChunks({ name: 'look' }), textChunks('seen')))
    let looks = 0
    const look = tool('look', 'read', async () => {
      if (++looks === 1) controlled.failWith(new TroupeError('store_full', 'the disk is full'))
      return { success: true }
    })
    const { troupe } = await createTestTroupe({ store: controlled.store, model, agents: [worker], tools: [look] })
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await expect(handle.result).rejects.toMatchObject({ code: 'store_full' })
    await flushEventLoop()
    expect(model.requests).toHaveLength(1)
    controlled.failWith(undefined)
    const resumed = await (await troupe.resume(handle.run_id)).result
    expect([resumed.status, model.requests.length]).toEqual(['completed', 2])
  })

  test('J5 a failing store ends only the runs that write meanwhile; the engine continues', async () => {
    const controlled = pausableStore()
    const { task } = await createTestTroupe({
      store: controlled.store,
      model: chunkModel(() => textChunks('hello')),
      agents: [worker],
    })
    controlled.failWith(new Error('gone'))
    await expect(task('worker', 'go')).rejects.toMatchObject({ code: 'store_failed' })
    controlled.failWith(undefined)
    expect((await task('worker', 'go')).status).toBe('completed')
  })
})

describe('aborts', () => {
  test('J19 a tool is not called if the run is cancelled while tool:pre is being written', async () => {
    const controlled = pausableStore()
    let called = 0
    const push = tool('push', 'act', async () => {
      called += 1
      return { success: true }
    })
    const modelCalled = Promise.withResolvers<void>()
    const response = Promise.withResolvers<ReturnType<typeof toolCallChunks>>()
    const model = chunkModel(() => {
      modelCalled.resolve()
      return response.promise
    })
    const { troupe } = await createTestTroupe({ store: controlled.store, model, agents: [worker], tools: [push] })
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await modelCalled.promise
    controlled.pause()
    const cancelling = troupe.cancel(handle.run_id)
    await flushEventLoop()
    response.resolve(toolCallChunks({ name: 'push' }))
    await flushEventLoop()
    controlled.resume()
    await cancelling
    expect([(await handle.result).status, called]).toEqual(['cancelled', 0])
  })

  test('J19 a cancelled run ends even if an effect ignores its signal', async () => {
    const begun = Promise.withResolvers<void>()
    const unresponsive = patternFrom('unresponsive', (context) =>
      context.step('hang', () => {
        begun.resolve()
        return new Promise(() => {})
      }),
    )
    const { troupe } = await createTestTroupe({ model: chunkModel(() => []), patterns: [unresponsive] })
    const handle = await troupe.stream('unresponsive', {})
    await begun.promise
    await troupe.cancel(handle.run_id, 'enough')
    expect(await handle.result).toMatchObject({
      status: 'cancelled',
      error: { message: 'the run was cancelled: enough' },
    })
    expect(eventData(await troupe.events(handle.run_id).all(), 'step:error')).toEqual([])
  })

  test('J19 an effect aborted by the timeout of its session records no outcome', async () => {
    const wait = patternFrom('wait', (context) =>
      context.step(
        'hang',
        (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
    )
    const model = chunkModel(chunksByTurn(toolCallChunks({ name: 'wait' }), textChunks('never')))
    const world = simulatedWorld(1)
    const hasty = agent('hasty', { timeout_ms: 5 })
    const { troupe, task } = await createTestTroupe({ model, agents: [hasty], patterns: [wait], engine: { world } })
    const result = await world.runUntil(task('hasty', 'go'))
    expect(result.stop_reason).toBe('timeout')
    const events = await troupe.events(result.run_id).all()
    expect([eventData(events, 'tool:pre').length, eventData(events, 'step:error').length]).toEqual([1, 0])
  })
})
