import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answering, calls, dataOf, heldStore, inTurn, pattern, says, settle } from '../../test/by-hand.ts'
import { agent, stage } from '../../test/stage.ts'
import { TroupeError } from '../errors.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { defineTool } from './tool.ts'

const worker = agent('worker')

function tool(name: string, kind: 'read' | 'act', execute: () => Promise<{ success: boolean; output?: unknown }>) {
  return defineTool({ name, description: name, input: z.object({}), category: 'action', kind, execute })
}

const done = async () => ({ success: true, output: 'done' })

describe('effects wait for the journal', () => {
  test('J2 a model is not called before its begin is in the store', async () => {
    const { store, hold, release, appends } = heldStore()
    const model = answering(() => says('hello'))
    const { task } = await stage({ store, model, agents: [worker] })
    hold()
    const running = task('worker', 'go')
    await settle()
    expect(appends.flatMap(({ events }) => events.map(({ type }) => type))).toContain('model:begin')
    expect(model.asked).toHaveLength(0)
    release()
    expect((await running).status).toBe('completed')
    expect(model.asked).toHaveLength(1)
  })

  test.each(['read', 'act'] as const)('J2 a tool (%s) is not called before its begin is in the store', async (kind) => {
    const { store, hold, release, appends } = heldStore()
    let called = 0
    const model = answering(inTurn(calls({ name: 'look' }), says('seen')))
    const look = tool('look', kind, async () => {
      called += 1
      return { success: true }
    })
    const { task } = await stage({
      store,
      model: answering((request, signal) => {
        if (request.session.turn === 1) queueMicrotask(hold)
        return model.stream(request, signal)
      }),
      agents: [worker],
      tools: [look],
    })
    const running = task('worker', 'go')
    await settle(10)
    expect([appends.at(-1)?.events.at(-1)?.type, called]).toEqual(['tool:pre', 0])
    release()
    expect([(await running).status, called]).toEqual(['completed', 1])
  })

  test('J2 code between effects does not wait for the store', async () => {
    const { store, hold, release } = heldStore()
    const steps: number[] = []
    const plain = pattern('plain', async (context) => {
      hold()
      for (let n = 0; n < 3; n++) steps.push(await context.step(`${n}`, () => n))
      return steps
    })
    const { troupe } = await stage({ store, model: answering(() => []), patterns: [plain] })
    const running = troupe.run('plain', {})
    await settle()
    expect(steps).toEqual([0, 1, 2])
    release()
    expect((await running).output).toEqual([0, 1, 2])
  })

  test('J7 action begins, gate answers and results are written with full sync, calls of models and reads are not', async () => {
    const { store, appends } = heldStore()
    const model = answering(
      inTurn(
        calls({ name: 'look' }),
        calls({ name: 'push' }),
        calls({ name: 'ask_user', input: { question: 'ok?' } }),
        says('done'),
      ),
    )
    const { troupe, task } = await stage({
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

  test('J5 when the store fails, the run stops there, tells its caller, and can be resumed later', async () => {
    const held = heldStore()
    const model = answering(inTurn(calls({ name: 'look' }), says('seen')))
    let looks = 0
    const look = tool('look', 'read', async () => {
      if (++looks === 1) held.fail(new TroupeError('store_full', 'the disk is full'))
      return { success: true }
    })
    const { troupe } = await stage({ store: held.store, model, agents: [worker], tools: [look] })
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await expect(handle.result).rejects.toMatchObject({ code: 'store_full' })
    await settle()
    expect(model.asked).toHaveLength(1)
    held.fail(undefined)
    const resumed = await (await troupe.resume(handle.run_id)).result
    expect([resumed.status, model.asked.length]).toEqual(['completed', 2])
  })

  test('J5 a failing store ends only the runs that write to it then: the engine goes on', async () => {
    const held = heldStore()
    const { task } = await stage({ store: held.store, model: answering(() => says('hello')), agents: [worker] })
    held.fail(new Error('gone'))
    await expect(task('worker', 'go')).rejects.toMatchObject({ code: 'store_failed' })
    held.fail(undefined)
    expect((await task('worker', 'go')).status).toBe('completed')
  })
})

describe('aborts', () => {
  test('J19 a tool that the run was cancelled before is not called, though its begin was being written', async () => {
    const held = heldStore()
    let called = 0
    const push = tool('push', 'act', async () => {
      called += 1
      return { success: true }
    })
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ReturnType<typeof calls>>()
    const model = answering(() => {
      asked.resolve()
      return answer.promise
    })
    const { troupe } = await stage({ store: held.store, model, agents: [worker], tools: [push] })
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await asked.promise
    held.hold()
    const cancelling = troupe.cancel(handle.run_id)
    await settle()
    answer.resolve(calls({ name: 'push' }))
    await settle()
    held.release()
    await cancelling
    expect([(await handle.result).status, called]).toEqual(['cancelled', 0])
  })

  test('J19 a cancelled run ends although an effect of its pattern does not listen', async () => {
    const begun = Promise.withResolvers<void>()
    const deaf = pattern('deaf', (context) =>
      context.step('hang', () => {
        begun.resolve()
        return new Promise(() => {})
      }),
    )
    const { troupe } = await stage({ model: answering(() => []), patterns: [deaf] })
    const handle = await troupe.stream('deaf', {})
    await begun.promise
    await troupe.cancel(handle.run_id, 'enough')
    expect(await handle.result).toMatchObject({
      status: 'cancelled',
      error: { message: 'the run was cancelled: enough' },
    })
    expect(dataOf(await troupe.events(handle.run_id), 'step:error')).toEqual([])
  })

  test('J19 an effect that ended with the timeout of its session is not recorded as its outcome', async () => {
    const wait = pattern('wait', (context) =>
      context.step(
        'hang',
        (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
    )
    const model = answering(inTurn(calls({ name: 'wait' }), says('never')))
    const world = simulatedWorld(1)
    const hasty = agent('hasty', { timeout_ms: 5 })
    const { troupe, task } = await stage({ model, agents: [hasty], patterns: [wait], engine: { world } })
    const result = await world.run(task('hasty', 'go'))
    expect(result.stop_reason).toBe('timeout')
    const events = await troupe.events(result.run_id)
    expect([dataOf(events, 'tool:pre').length, dataOf(events, 'step:error').length]).toEqual([1, 0])
  })
})
