import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../entries/inspect.ts'
import type { Model, ModelChunk } from '../../entries/models.ts'
import { defineTool } from '../../index.ts'
import { DEFAULT_IDLE_TIMEOUT_MS } from '../../performers/model/model-stream.ts'
import type { Performer } from '../../performers/performer.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'

const worker = agent('worker')
const acts: unknown[] = []
const act = defineTool({
  name: 'act',
  description: 'acts',
  kind: 'act',
  category: 'action',
  input: z.object({ n: z.number() }),
  execute({ n }) {
    acts.push(n)
    return { success: true, output: 'done' }
  },
})

test('H6 the call that a person approved is the call that is made, with the recorded hook decision', async () => {
  acts.length = 0
  let hookCalls = 0
  const model = functionModel((request) =>
    request.session.turn === 1 ? { calls: [{ name: 'act', input: { n: 0 } }] } : { text: lastMessageText(request) },
  )
  const hooks = [{ beforeTool: () => ({ input: { n: ++hookCalls } }) }]
  const store = memoryStore()
  const permissions = { ask: ['act'] }
  const first = await createTestTroupe({ store, model, agents: [worker], tools: [act], hooks, permissions })
  const parked = await first.task('worker', 'go')
  expect(parked.gates[0]?.detail).toMatchObject({ input: { n: 1 } })
  const later = await createTestTroupe({ store, model, agents: [worker], tools: [act], hooks, permissions })
  const ended = await (await later.troupe.answer(parked.gates[0]?.gate_id ?? '', 'allow')).result
  expect([ended.status, acts, hookCalls]).toEqual(['completed', [1], 1])
})

/** Resolves the model asynchronously, as files and providers do. */
function asyncModels(model: Model) {
  return { resolver: { resolve: async () => model } }
}

test('E5 a run cancelled at a gate keeps its text and usage', async () => {
  const model = functionModel((request) => {
    if (request.session.turn === 1) return { text: 'First I looked.', calls: [{ name: 'act', input: { n: 1 } }] }
    return { text: 'Then I asked.', calls: [{ name: 'ask_user', input: { question: 'Continue?' } }] }
  })
  const { troupe, task } = await createTestTroupe({ models: asyncModels(model), agents: [worker], tools: [act] })
  const parked = await task('worker', 'go')
  const cancelled = await troupe.cancel(parked.run_id)
  expect(cancelled).toMatchObject({ status: 'cancelled', usage: { calls: 2 } })
  expect(cancelled.output).toMatchObject({ response: 'First I looked.\n\nThen I asked.', usage: { calls: 2 } })
  expect(verifyJournal(await troupe.events(parked.run_id).all())).toEqual([])
})

describe('code that never settles', () => {
  const forever = () => new Promise<never>(() => {})

  /** Runs until `entered`, then cancels. */
  async function expectCancellable(options: Parameters<typeof createTestTroupe>[0], entered: Promise<void>) {
    const { troupe } = await createTestTroupe({ agents: [worker], tools: [act], ...options })
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await entered
    expect(await troupe.cancel(handle.run_id)).toMatchObject({ status: 'cancelled' })
  }

  test('U20 a model that ignores its abort signal does not block cancelling, and its partial text is kept', async () => {
    const entered = Promise.withResolvers<void>()
    async function* stream(): AsyncGenerator<ModelChunk> {
      yield { type: 'text', text: 'Half of' }
      entered.resolve()
      await forever()
    }
    const { troupe } = await createTestTroupe({ agents: [worker], model: { name: 'unresponsive', stream } })
    const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await entered.promise
    const cancelled = await troupe.cancel(handle.run_id)
    expect(cancelled.output).toMatchObject({ response: 'Half of', stop_reason: 'cancelled' })
  })

  test('U20 hooks that never settle do not block cancelling', async () => {
    const model = functionModel(() => ({ calls: [{ name: 'act', input: { n: 1 } }] }))
    const deciding = Promise.withResolvers<void>()
    const beforeTool = () => {
      deciding.resolve()
      return forever()
    }
    await expectCancellable({ model, hooks: [{ beforeTool }] }, deciding.promise)
    const adding = Promise.withResolvers<void>()
    const addContext = () => {
      adding.resolve()
      return forever()
    }
    await expectCancellable({ model, hooks: [{ addContext }] }, adding.promise)
  })

  test('U21 a model that sends nothing for the idle timeout fails with stream_interrupted, which is retryable', async () => {
    const world = simulatedWorld(1)
    async function* stream(): AsyncGenerator<ModelChunk> {
      yield { type: 'text', text: 'Well' }
      await forever()
    }
    const silent = { name: 'silent', stream }
    const retryPolicy = { ready: () => undefined, next: () => undefined }
    const { task } = await createTestTroupe({ agents: [worker], model: silent, engine: { world, retryPolicy } })
    const before = world.now()
    const result = await world.runUntil(task('worker', 'go'))
    expect(result).toMatchObject({ status: 'failed', error: { code: 'stream_interrupted', retry: true } })
    expect(result.output).toMatchObject({ response: 'Well' })
    expect(world.now() - before).toBeGreaterThanOrEqual(DEFAULT_IDLE_TIMEOUT_MS)
  })
})

test('PF6 a performer that reports nothing for ten minutes fails the session, and reporting resets the time', async () => {
  const world = simulatedWorld(1)
  const performer: Performer = {
    async perform({ signal }, host) {
      await world.sleep(9 * 60_000)
      host.report({ type: 'text', text: 'Still here.' })
      await world.sleep(9 * 60_000)
      host.report({ type: 'message-end' })
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const agents = [{ ...worker, performer: 'external' }]
  const { task } = await createTestTroupe({ agents, performers: { external: performer }, engine: { world } })
  const before = world.now()
  const result = await world.runUntil(task('worker', 'go'))
  expect(result).toMatchObject({ status: 'failed', error: { code: 'performer_failed', retry: true } })
  expect(result.output).toMatchObject({ response: 'Still here.' })
  expect(world.now() - before).toBeGreaterThanOrEqual(28 * 60_000)
})

test('E14 crashes are counted in total and without progress', async () => {
  const { JournalIndex } = await import('../journal/journal-index.ts')
  const attempt = (epoch: number) => ({
    run_id: 'r',
    seq: epoch * 2,
    at: epoch,
    type: 'run:attempt' as const,
    data: { epoch, owner: 'x' },
  })
  const progress = (epoch: number) => ({
    run_id: 'r',
    seq: epoch * 2 + 1,
    at: epoch,
    type: 'step:end' as const,
    data: { key: `k${epoch}`, v: 1, input_hash: null, result: null },
  })
  const events = [1, 2, 3].flatMap((epoch) => [attempt(epoch), progress(epoch)])
  expect(new JournalIndex(events)).toMatchObject({ crashes: 3, crashesWithoutProgress: 0 })
  const stuck = [...events, attempt(4), attempt(5)]
  expect(new JournalIndex(stuck)).toMatchObject({ crashes: 5, crashesWithoutProgress: 2 })
})
