import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  chunkModel,
  eventData,
  flushEventLoop,
  patternFrom,
  textChunks,
  toolCallChunks,
} from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe, runToEnd } from '../../test/support/test-troupe.ts'
import { realWorld } from '../engine/real-world.ts'
import type { TroupeError } from '../errors.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import { NO_RETRIES } from '../kernel/retry-policy.ts'
import type { World } from '../kernel/world.ts'
import type { Hooks } from '../performers/hook.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import type { RunHandle, StreamItem } from './run-handle.ts'
import { createTroupe } from './troupe.ts'

const worker = agent('worker')
const go = { agent: 'worker', instruction: 'go' }

/** A model that responds once `release` is called. */
function blockedModel() {
  const released = Promise.withResolvers<void>()
  const model = chunkModel(() => released.promise.then(() => textChunks('hello')))
  return { model, release: () => released.resolve() }
}

async function itemTypes(items: AsyncIterable<StreamItem>): Promise<string[]> {
  const types: string[] = []
  for await (const item of items) types.push('event' in item ? item.event.type : 'delta')
  return types
}

describe('unknown names and invalid input', () => {
  test('P1 an unknown pattern, run or gate is rejected with the known names, nearest first', async () => {
    const { troupe } = await createTestTroupe({ model: chunkModel(() => textChunks('hi')), agents: [worker] })
    const { run_id } = await troupe.run('task', go)
    const mistyped = await troupe.run('taks', go).catch((error: TroupeError) => error)
    expect(mistyped).toMatchObject({ code: 'unknown_pattern' })
    expect((mistyped as TroupeError).alternatives[0]).toBe('task')
    const near = `${run_id}0`
    const unknown = { code: 'unknown_run', alternatives: [run_id] }
    await expect(troupe.resume(near)).rejects.toMatchObject(unknown)
    await expect(troupe.cancel(near)).rejects.toMatchObject(unknown)
    await expect(troupe.result(near)).rejects.toMatchObject(unknown)
    await expect(troupe.events(near).all()).rejects.toMatchObject(unknown)
    await expect(troupe.answer('g_1', 'yes')).rejects.toMatchObject({ code: 'unknown_gate', alternatives: [] })
  })

  test('P1 runs and sessions of another project are not visible', async () => {
    const store = memoryStore()
    const options = { store, model: chunkModel(() => textChunks('hi')), agents: [worker] }
    const mine = await createTestTroupe(options)
    const { run_id } = await mine.troupe.run('task', go)
    const other = (await createTestTroupe({ ...options, project: 'other' })).troupe
    expect([await other.runs().all(), await other.sessions().all()]).toEqual([[], []])
    await expect(other.sessions({ run_id })).rejects.toMatchObject({ code: 'unknown_run' })
    const unknown = { code: 'unknown_run', alternatives: [] }
    await expect(other.result(run_id)).rejects.toMatchObject(unknown)
    await expect(other.events(run_id)).rejects.toMatchObject(unknown)
    await expect(other.resume(run_id)).rejects.toMatchObject(unknown)
  })

  test('P2 invalid input is rejected before anything is written', async () => {
    const { troupe } = await createTestTroupe({ model: chunkModel(() => textChunks('hi')), agents: [worker] })
    const wrong = troupe.run('task' as string, { agent: 'worker', instruction: 7, colour: 'red' })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_input' })
    await expect(wrong).rejects.toThrow(/instruction: .*string.*; .*colour/)
    expect(await troupe.runs().all()).toEqual([])
  })

  test('P2 two agents with the same name are rejected', async () => {
    const twins = createTroupe({ store: 'memory', agents: [worker, worker] })
    await expect(twins).rejects.toMatchObject({ code: 'invalid_input', message: "two agents have the name 'worker'" })
    const agents = ['a.md', 'b.md'].map((path) => ({ ...worker, origin: { by: 'user' as const, path } }))
    await expect(createTroupe({ store: 'memory', agents })).rejects.toThrow(/'worker': a\.md and b\.md$/)
  })
})

describe('streaming', () => {
  test('P3 a stream has every event from run:start to run:end, whenever it is read', async () => {
    const { troupe, eventTypes: stored } = await createTestTroupe({
      model: chunkModel(() => textChunks('hi')),
      agents: [worker],
    })
    const handle = await troupe.stream('task', go)
    const live = await itemTypes(handle)
    expect([live[0], live.at(-1)]).toEqual(['run:start', 'run:end'])
    expect(live.filter((type) => type !== 'delta')).toEqual(await stored(handle.run_id))
    expect(live).toContain('delta')
    expect(await itemTypes(handle)).toEqual(await stored(handle.run_id))
    expect(await itemTypes(await troupe.resume(handle.run_id))).toEqual(await stored(handle.run_id))
  })

  test('P4 leaving a stream does not cancel the run', async () => {
    const { model, release } = blockedModel()
    const { troupe } = await createTestTroupe({ model, agents: [worker] })
    const handle = await troupe.stream('task', go)
    for await (const item of handle) if ('event' in item && item.event.type === 'model:begin') break
    release()
    expect((await handle.result).status).toBe('completed')
  })

  test('P4 a run that is neither streamed nor awaited continues to its end', async () => {
    const { model, release } = blockedModel()
    const { troupe } = await createTestTroupe({ model, agents: [worker] })
    const { run_id } = await troupe.stream('task', go)
    release()
    while ((await troupe.result(run_id)).status !== 'completed') await flushEventLoop(1)
  })

  test('P5 a slow reader does not slow the run and loses no event', async () => {
    const busy = patternFrom('busy', async (context) => {
      for (let n = 0; n < 6000; n++) context.emit(`${n}`, 'custom:tick', { n })
      return 'done'
    })
    const { troupe } = await createTestTroupe({ model: chunkModel(() => []), patterns: [busy] })
    const handle = await troupe.stream('busy', {})
    const reader = handle[Symbol.asyncIterator]()
    await reader.next()
    expect((await handle.result).status).toBe('completed')
    const seqs: number[] = []
    for (let next = await reader.next(); !next.done; next = await reader.next()) {
      if ('event' in next.value) seqs.push(next.value.event.seq)
    }
    expect(seqs).toEqual(Array.from({ length: 6002 }, (_, index) => index + 2))
  })
})

describe('resuming, closing and sharing a store', () => {
  test('P6 resume of a run that has ended returns its result and writes nothing', async () => {
    const model = chunkModel(() => textChunks('hi'))
    const { troupe, eventTypes: stored } = await createTestTroupe({ model, agents: [worker] })
    const first = await troupe.run('task', go)
    const before = await stored(first.run_id)
    expect(await (await troupe.resume(first.run_id)).result).toEqual(first)
    expect(await stored(first.run_id)).toEqual(before)
  })

  test('P6 resume of a running run joins it', async () => {
    const { model, release } = blockedModel()
    const { troupe } = await createTestTroupe({ model, agents: [worker] })
    const handle = await troupe.stream('task', go)
    const again = await troupe.resume(handle.run_id)
    release()
    expect(await again.result).toEqual(await handle.result)
    expect([model.requests.length, eventData(await troupe.events(handle.run_id).all(), 'run:attempt').length]).toEqual([
      1, 1,
    ])
  })

  test('P7 close waits for calls in flight, starts no new ones, and leaves the run resumable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-close-'))
    const store = join(folder, 'troupe.db')
    let asked = 0
    const released = Promise.withResolvers<void>()
    const model = chunkModel(({ session }) => {
      asked += 1
      return session.turn === 1
        ? released.promise.then(() => toolCallChunks({ name: 'no_such_tool' }))
        : textChunks('done')
    })
    const first = await createTroupe({ store, model, agents: [worker] })
    const handle = await first.stream('task', go)
    while (asked === 0) await flushEventLoop(1)
    const closing = first.close()
    released.resolve()
    await closing
    expect(await handle.result).toMatchObject({ status: 'pending', stop_reason: null })
    expect(asked).toBe(1)
    const second = await createTroupe({ store, model, agents: [worker] })
    expect(await (await second.resume(handle.run_id)).result).toMatchObject({ status: 'completed' })
    expect(asked).toBe(2)
    await second.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('P7 close leaves a run that has just been started pending', async () => {
    const model = chunkModel(() => new Promise(() => {}))
    const { troupe } = await createTestTroupe({ model, agents: [worker] })
    const handle = await troupe.stream('task', go)
    await troupe.close()
    expect((await handle.result).status).toBe('pending')
    expect(model.requests).toEqual([])
  })

  test('P7 runs above engine.concurrency queue, and close leaves them pending', async () => {
    const { model, release } = blockedModel()
    const { troupe } = await createTestTroupe({ model, agents: [worker], engine: { concurrency: 1 } })
    const [one, two] = [await troupe.stream('task', go), await troupe.stream('task', go)]
    while (model.requests.length === 0) await flushEventLoop(1)
    await flushEventLoop()
    expect((await troupe.result(two.run_id)).status).toBe('pending')
    const closing = troupe.close()
    release()
    await closing
    expect([(await one.result).status, (await two.result).status]).toEqual(['completed', 'pending'])
  })

  test('P8 a second troupe on the same store gets run_busy and sees the progress of the run', async () => {
    const store = memoryStore()
    const { model, release } = blockedModel()
    const one = (await createTestTroupe({ store, model, agents: [worker] })).troupe
    const two = (await createTestTroupe({ store, model, agents: [worker] })).troupe
    const handle = await one.stream('task', go)
    while (model.requests.length === 0) await flushEventLoop(1)
    await expect((await two.resume(handle.run_id)).result).rejects.toMatchObject({ code: 'run_busy', retry: true })
    expect((await two.result(handle.run_id)).status).toBe('running')
    release()
    await handle.result
    expect(await two.result(handle.run_id)).toMatchObject({ status: 'completed', output: { response: 'hello' } })
    expect(model.requests).toHaveLength(1)
  })

  test('P8 a cancellation from a second troupe reaches the run', async () => {
    const world = simulatedWorld(1)
    const options = { store: memoryStore(), model: blockedModel().model, agents: [worker], engine: { world } }
    const [one, two] = [(await createTestTroupe(options)).troupe, (await createTestTroupe(options)).troupe]
    const handle = await one.stream('task', go)
    await world.runUntil(world.sleep(10))
    await world.runUntil(two.cancel(handle.run_id, 'from outside'))
    expect(await world.runUntil(handle.result)).toMatchObject({
      status: 'cancelled',
      error: { message: expect.stringContaining('outside') },
    })
  })

  test('P6 a failed run is tried again each time it is resumed', async () => {
    let tries = 0
    const model = chunkModel(() => {
      if (++tries < 4) throw Object.assign(new Error(`down ${tries}`), { status: 503 })
      return textChunks('up')
    })
    const { troupe } = await createTestTroupe({ model, agents: [worker], engine: { retryPolicy: NO_RETRIES } })
    const { run_id } = await runToEnd(troupe, 'task', go)
    const again = async () => (await (await troupe.resume(run_id)).result).status
    expect([await again(), await again(), await again()]).toEqual(['failed', 'failed', 'completed'])
    expect((await troupe.result(run_id)).usage.calls).toBe(4)
  })
})

test('a run that starts in the tick in which the last one ends does not turn the poll loop into a busy loop', async () => {
  const quick = patternFrom('quick', (context) => context.step('a', () => flushEventLoop(1).then(() => 'done')))
  const start = { format: 2 as const, project: 'default', pattern: 'quick', version: 1, input: {} }
  for (let ticks = 0; ticks < 40; ticks++) {
    const store = memoryStore()
    for (const run_id of ['one', 'two']) {
      const data = { ...start, limits: DEFAULT_LIMITS }
      await store.createRun({ run_id, seq: 1, at: 0, type: 'run:start', data })
    }
    let busySleeps = 0
    const real = realWorld()
    const world: World = {
      ...real,
      sleep(ms, signal) {
        if (signal?.aborted) busySleeps += 1
        return busySleeps > 100 ? real.sleep(ms) : real.sleep(ms, signal)
      },
    }
    const second = Promise.withResolvers<RunHandle>()
    const hooks: Hooks[] = [
      {
        async onEvent({ run_id, type }) {
          if (run_id !== 'one' || type !== 'run:end') return
          for (let tick = 0; tick < ticks; tick++) await undefined
          second.resolve(troupe.resume('two'))
        },
      },
    ]
    const { troupe } = await createTestTroupe({
      store,
      model: chunkModel(() => []),
      patterns: [quick],
      hooks,
      engine: { world },
    })
    await troupe.resume('one')
    expect([(await (await second.promise).result).output, busySleeps]).toEqual(['done', 0])
  }
})
