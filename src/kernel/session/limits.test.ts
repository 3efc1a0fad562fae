import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, eventData, textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, storeOf } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../runtime/troupe.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { DEFAULT_LIMITS } from '../limits.ts'
import type { PriceBook } from '../spend.ts'
import { Budget } from './budget.ts'

const worker = agent('worker')

function pushTool() {
  const pushes: string[] = []
  const push = defineTool({
    name: 'push',
    description: 'push',
    input: z.object({}),
    category: 'action',
    kind: 'act',
    execute: () => ({ success: true, output: pushes.push('push') }),
  })
  return { push, pushes }
}

/** Four turns: three with a text and a push, then a final text. */
const workModel = () =>
  chunkModel(({ session }) =>
    session.turn <= 3
      ? [{ type: 'text', text: `Step ${session.turn}.` }, ...toolCallChunks({ name: 'push' })]
      : textChunks('All done.'),
  )

async function runWithLimits(limits: TroupeOptions['limits'], more: TroupeOptions = {}) {
  const { push, pushes } = pushTool()
  const model = workModel()
  const { troupe, task } = await createTestTroupe({
    model,
    agents: [worker],
    tools: [push],
    ...more,
    ...(limits ? { limits } : {}),
  })
  const result = await task('worker', 'go')
  return { troupe, model, pushes, result, events: await troupe.events(result.run_id).all() }
}

const pusher = agent('worker', { tools: ['push'] })
const expensiveModel = chunkModel(() => [
  ...toolCallChunks({ name: 'push' }).slice(0, 1),
  {
    type: 'finish',
    stop: 'tool_calls',
    usage: { input: 200, output: 300, cache_read: 0, cache_write: 0, reasoning: 0 },
  },
])
const prices: PriceBook = { cost: (_model, usage) => (usage.input + usage.output) / 1000 }

describe('limits', () => {
  test('N1 calls: the error names the limit, the usage, what is kept and how to continue', async () => {
    const { result, events } = await runWithLimits({ calls: 2 })
    expect(result).toMatchObject({ status: 'failed', stop_reason: 'budget', usage: { calls: 2 } })
    expect(result.output).toMatchObject({ response: 'Step 2.' })
    expect(result.error).toMatchObject({ code: 'limit_reached', retry: true, alternatives: ['calls'] })
    expect(result.error?.message).toBe('limit `calls` reached: 2 of 2 model requests used, the next does not fit')
    expect(result.error?.hint).toMatch(/work so far is kept.*troupe resume RUN --limit calls=4/)
    expect(eventData(events, 'limit:hit')).toMatchObject([{ limit: 'calls', used: 2, max: 2 }])
  })

  test('N1 tokens: no call is made that could exceed the limit, and max_output is capped by the rest', async () => {
    const { result, model, events } = await runWithLimits({ tokens: 1500 }, { agents: [pusher], model: expensiveModel })
    expect(result.error).toMatchObject({ code: 'limit_reached', alternatives: ['tokens'] })
    expect(eventData(events, 'limit:hit')).toMatchObject([{ limit: 'tokens', used: 1000, max: 1500 }])
    expect(eventData(events, 'model:begin').map(({ reserved }, made) => reserved.tokens + made * 500)).toEqual([
      1500, 1500,
    ])
    const caps = expensiveModel.requests.map(({ settings }) => settings.max_output ?? 0)
    expect(caps[0]).toBeGreaterThan(caps[1] ?? 0)
    expect(model.requests).toEqual([])
  })

  test('N1 usd: the cost of the run stays below the limit', async () => {
    const paid = await runWithLimits({ usd: 1.5 }, { agents: [pusher], model: expensiveModel, models: { prices } })
    expect(paid.result.error).toMatchObject({ code: 'limit_reached', alternatives: ['usd'] })
    expect(paid.result.usage).toMatchObject({ calls: 2, usd: 1 })
    for (const { reserved } of eventData(paid.events, 'model:begin')) expect(reserved.usd).toBeLessThanOrEqual(1.5)
  })

  test('N8 a limit in dollars that was set refuses a model of unknown price before the request; the default one says so', async () => {
    const { troupe, result, model, events } = await runWithLimits({ usd: 5 })
    expect(result).toMatchObject({ status: 'failed', stop_reason: 'budget', usage: { calls: 0, usd: 0 } })
    expect(result.error).toMatchObject({ code: 'limit_reached', retry: true, alternatives: ['usd'] })
    expect(result.error?.message).toBe('limit `usd` of 5 cannot be kept: the price of manual is unknown')
    expect(result.error?.hint).toMatch(/TROUPE_PRICES.*\{"model": "manual", "usd_per_million": .*--limit usd=null/)
    expect(model.requests).toEqual([])
    expect(eventData(events, 'model:begin')).toEqual([])
    const dropped = await (await troupe.resume(result.run_id, { limits: { usd: null } })).result
    expect(dropped).toMatchObject({ status: 'completed', usage: { usd: null } })
    const byDefault = await runWithLimits(undefined)
    expect(byDefault.result).toMatchObject({ status: 'completed', usage: { usd: null } })
    expect(eventData(byDefault.events, 'model:begin').map(({ unpriced }) => unpriced)).toContain(true)
    const known = await runWithLimits({ usd: 5 }, { models: { prices } })
    expect(eventData(known.events, 'model:begin').map(({ unpriced }) => unpriced)).not.toContain(true)
  })

  test('N2 a run resumed with a higher limit continues where it stopped and repeats nothing', async () => {
    const { troupe, result, model, pushes } = await runWithLimits({ calls: 2 })
    const same = await (await troupe.resume(result.run_id)).result
    expect([same.stop_reason, model.requests.length]).toEqual(['budget', 2])
    const more = await (await troupe.resume(result.run_id, { limits: { calls: 10 } })).result
    expect(more).toMatchObject({ status: 'completed', output: { response: 'All done.' }, usage: { calls: 4 } })
    expect([model.requests.length, pushes.length]).toEqual([4, 3])
    expect(model.requests.map(({ session }) => session.turn)).toEqual([1, 2, 3, 4])
  })

  test('N3 wall_ms stops the work at any depth and keeps its text, and a resume continues there', async () => {
    const world = simulatedWorld(3)
    const { push, pushes } = pushTool()
    const model = chunkModel(({ session }, signal) => {
      if (session.agent === 'lead')
        return session.turn === 1
          ? toolCallChunks({ name: 'task', input: { agent: 'worker', instruction: 'go' } })
          : textChunks('Fine.')
      const chunks = [{ type: 'text' as const, text: `Step ${session.turn}.` }, ...toolCallChunks({ name: 'push' })]
      return world.sleep(4000, signal).then(() => (session.turn <= 3 ? chunks : textChunks('All done.')))
    })
    const options = { model, agents: [agent('lead'), worker], tools: [push], engine: { world } }
    const { troupe, task } = await createTestTroupe({ ...options, limits: { wall_ms: 10_000 } })
    const result = await world.runUntil(task('lead', 'go'))
    expect(result).toMatchObject({ status: 'failed', stop_reason: 'timeout', error: { alternatives: ['wall_ms'] } })
    expect([result.duration_ms, pushes.length]).toEqual([10_000, 2])
    const ends = eventData(await troupe.events(result.run_id).all(), 'session:end')
    expect(ends[0]).toMatchObject({ stop_reason: 'timeout', text: 'Step 1.\n\nStep 2.' })
    const handle = await troupe.resume(result.run_id, { limits: { wall_ms: 60_000 } })
    const resumed = await world.runUntil(handle.result)
    expect(resumed).toMatchObject({ status: 'completed', output: { response: 'Fine.' } })
    expect(pushes).toHaveLength(3)
    const turns = model.requests.filter(({ session }) => session.agent === 'worker').map(({ session }) => session.turn)
    expect(turns).toEqual([1, 2, 3, 3, 4])
  })

  test('N3 working time adds up over interruptions, and a resumed run has only the rest', async () => {
    const world = simulatedWorld(1)
    const model = chunkModel(({ session }, signal) =>
      world
        .sleep(4000, signal)
        .then(() => (session.turn <= 3 ? toolCallChunks({ name: 'push' }) : textChunks('All done.'))),
    )
    const options = {
      model,
      agents: [worker],
      tools: [pushTool().push],
      engine: { world },
      limits: { wall_ms: 10_000 },
    }
    const first = await createTestTroupe(options)
    const handle = await first.troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await world.runUntil(world.sleep(6000))
    await world.runUntil(first.troupe.drain())
    expect((await first.troupe.result(handle.run_id)).status).toBe('pending')
    await world.runUntil(world.sleep(1_000_000))
    const second = await createTestTroupe({ ...options, store: storeOf(first.troupe) })
    const began = world.now()
    const resumed = await world.runUntil((await second.troupe.resume(handle.run_id)).result)
    expect([resumed.stop_reason, world.now() - began]).toEqual(['timeout', 2000])
  })

  test('N4 invalid limits are rejected by name', async () => {
    const createWith = (limits: object) => createTroupe({ store: 'memory', limits })
    await expect(createWith({ calls: 0 })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('calls'),
    })
    await expect(createWith({ cals: 3 })).rejects.toMatchObject({ alternatives: Object.keys(DEFAULT_LIMITS) })
    await expect(createWith({ wall_ms: -1 })).rejects.toMatchObject({ code: 'invalid_input' })
    await expect(createWith({ depth: null })).rejects.toMatchObject({ code: 'invalid_input' })
    const { troupe } = await createTestTroupe({ model: workModel(), agents: [worker] })
    const run = troupe.run('task', { agent: 'worker', instruction: 'go' }, { limits: { tokens: 1.5 } })
    await expect(run).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await troupe.runs().all()).toEqual([])
  })

  test('N4 null removes a limit', async () => {
    const { result } = await runWithLimits({ calls: null, tokens: null, usd: null, wall_ms: null })
    expect(result.status).toBe('completed')
  })
})

describe('reservations', () => {
  test('N5 fifty sub-sessions at once with limits.calls 20 make twenty calls', async () => {
    let made = 0
    const open: (() => void)[] = []
    const model = chunkModel(({ session }) => {
      made += 1
      if (session.agent === 'lead' && session.turn === 1) {
        return toolCallChunks(
          ...Array.from({ length: 50 }, () => ({ name: 'task', input: { agent: 'worker', instruction: 'x' } })),
        )
      }
      return new Promise((resolve) => open.push(() => resolve(textChunks('done'))))
    })
    const limits = { calls: 20, breadth: 50, concurrency: 7 }
    const { troupe } = await createTestTroupe({ model, agents: [agent('lead'), worker], limits })
    const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
    let maxInFlight = 0
    let ended = false
    const result = handle.result.finally(() => (ended = true))
    while (!ended) {
      maxInFlight = Math.max(maxInFlight, open.length)
      open.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { usage, error } = await result
    expect([made, usage.calls, maxInFlight]).toEqual([20, 20, 7])
    expect(error).toMatchObject({ code: 'limit_reached', alternatives: ['calls'] })
    const spent = eventData(await troupe.events(handle.run_id).all(), 'model:end')
    expect(usage.input).toBe(spent.reduce((sum, end) => sum + end.usage.input, 0))
  })

  test('N5 a call that does not fit waits while others may return budget, first come, first served', async () => {
    const budget = new Budget({ ...DEFAULT_LIMITS, tokens: 1000 })
    const first = budget.reserve({ input: 100, output: 890 })
    const second = budget.reserve({ input: 100, output: 400 })
    const third = budget.reserve({ input: 1, output: 20 })
    if (first instanceof Promise) throw new Error('the first fits')
    const order: string[] = []
    const reservations = [
      Promise.resolve(second).then(({ output }) => order.push(`second ${output}`)),
      Promise.resolve(third).then(({ output }) => order.push(`third ${output}`)),
    ]
    budget.settle(first)
    await Promise.all(reservations)
    expect(order).toEqual(['second 400', 'third 20'])
  })

  test('N5 a call is rejected only when nothing is outstanding, and an abort leaves the queue', async () => {
    const budget = new Budget({ ...DEFAULT_LIMITS, calls: 1 })
    const first = budget.reserve({ input: 1, output: 20 })
    if (first instanceof Promise) throw new Error('the first fits')
    const controller = new AbortController()
    const second = budget.reserve({ input: 1, output: 20 }, controller.signal)
    const third = budget.reserve({ input: 1, output: 20 })
    controller.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    budget.settle(first)
    const reservation = await third
    expect(() => budget.settle(reservation)).not.toThrow()
    const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }
    const message = { role: 'assistant' as const, content: [] }
    const data = { key: 'k', attempt: 1, message, stop: 'end' as const, usage, usd: null }
    budget.recordEvent({ run_id: 'r', seq: 1, at: 0, type: 'model:end', data })
    expect(() => budget.reserve({ input: 1, output: 20 })).toThrow('limit `calls` reached: 1 of 1 model requests')
  })

  test('N5 an agent that times out in the queue leaves it', async () => {
    const world = simulatedWorld(1)
    const model = chunkModel(({ session }, signal) => {
      if (session.agent === 'lead') {
        const two = ['slow', 'hasty'].map((to) => ({ name: 'task', input: { agent: to, instruction: 'x' } }))
        return session.turn === 1 ? toolCallChunks(...two) : textChunks('both are back')
      }
      return world.sleep(10_000, signal).then(() => textChunks(`${session.agent} done`))
    })
    const agents = [agent('lead'), agent('slow'), agent('hasty', { timeout_ms: 1000 })]
    const { task } = await createTestTroupe({ model, agents, engine: { world }, limits: { concurrency: 1 } })
    expect(await world.runUntil(task('lead', 'go'))).toMatchObject({ output: { response: 'both are back' } })
  })
})
