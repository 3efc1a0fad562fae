import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, eventData, textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../runtime/troupe.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { DEFAULT_LIMITS } from '../limits.ts'
import type { PriceBook } from '../price.ts'
import { defineTool } from '../tool.ts'
import { Budget } from './budget.ts'

const worker = agent('worker')

function counting() {
  const done: string[] = []
  const push = defineTool({
    name: 'push',
    description: 'push',
    input: z.object({}),
    category: 'action',
    kind: 'act',
    execute: () => ({ success: true, output: done.push('push') }),
  })
  return { push, done }
}

/** Four turns: three that push, with a word each, and a last one. */
const working = () =>
  chunkModel(({ session }) =>
    session.turn <= 3
      ? [{ type: 'text', text: `Step ${session.turn}.` }, ...toolCallChunks({ name: 'push' })]
      : textChunks('All done.'),
  )

async function stopped(limits: TroupeOptions['limits'], more: TroupeOptions = {}) {
  const { push, done } = counting()
  const model = working()
  const { troupe, task } = await createTestTroupe({
    model,
    agents: [worker],
    tools: [push],
    ...more,
    ...(limits ? { limits } : {}),
  })
  const result = await task('worker', 'go')
  return { troupe, model, done, result, events: await troupe.events(result.run_id) }
}

const spare = agent('worker', { tools: ['push'] })
const spending = chunkModel(() => [
  ...toolCallChunks({ name: 'push' }).slice(0, 1),
  {
    type: 'finish',
    stop: 'tool_calls',
    usage: { input: 200, output: 300, cache_read: 0, cache_write: 0, reasoning: 0 },
  },
])
const prices: PriceBook = { cost: (_model, usage) => (usage.input + usage.output) / 1000 }

describe('a limit that fires', () => {
  test('N1 calls: it says which limit, how far, what is kept and how to go on', async () => {
    const { result, events } = await stopped({ calls: 2 })
    expect(result).toMatchObject({ status: 'failed', stop_reason: 'budget', usage: { calls: 2 } })
    expect(result.output).toMatchObject({ response: 'Step 2.' })
    expect(result.error).toMatchObject({ code: 'limit_reached', retry: true, alternatives: ['calls'] })
    expect(result.error?.message).toBe('limit `calls` reached: 2 of 2 model calls used, the next does not fit')
    expect(result.error?.hint).toMatch(/work so far is kept.*troupe resume RUN --limit calls=4/)
    expect(eventData(events, 'limit:hit')).toMatchObject([{ limit: 'calls', used: 2, max: 2 }])
  })

  test('N1 tokens: no call is made that could go over, and answers are capped by what is left', async () => {
    const { result, model, events } = await stopped({ tokens: 1500 }, { agents: [spare], model: spending })
    expect(result.error).toMatchObject({ code: 'limit_reached', alternatives: ['tokens'] })
    expect(eventData(events, 'limit:hit')).toMatchObject([{ limit: 'tokens', used: 1000, max: 1500 }])
    expect(eventData(events, 'model:begin').map(({ reserved }, made) => reserved.tokens + made * 500)).toEqual([
      1500, 1500,
    ])
    const caps = spending.requests.map(({ settings }) => settings.max_output ?? 0)
    expect(caps[0]).toBeGreaterThan(caps[1] ?? 0)
    expect(model.requests).toEqual([])
  })

  test('N1 dollars count where prices are known, and only there', async () => {
    const paid = await stopped({ usd: 1.5 }, { agents: [spare], model: spending, models: { prices } })
    expect(paid.result.error).toMatchObject({ code: 'limit_reached', alternatives: ['usd'] })
    expect(paid.result.usage).toMatchObject({ calls: 2, usd: 1 })
    for (const { reserved } of eventData(paid.events, 'model:begin')) expect(reserved.usd).toBeLessThanOrEqual(1.5)
    const unknown = await stopped({ usd: 0.000001 })
    expect(unknown.result).toMatchObject({ status: 'completed', usage: { usd: null } })
  })

  test('N2 resumed with a higher limit, the run goes on where it was and repeats nothing', async () => {
    const { troupe, result, model, done } = await stopped({ calls: 2 })
    const same = await (await troupe.resume(result.run_id)).result
    expect([same.stop_reason, model.requests.length]).toEqual(['budget', 2])
    const more = await (await troupe.resume(result.run_id, { limits: { calls: 10 } })).result
    expect(more).toMatchObject({ status: 'completed', output: { response: 'All done.' }, usage: { calls: 4 } })
    expect([model.requests.length, done.length]).toEqual([4, 3])
    expect(model.requests.map(({ session }) => session.turn)).toEqual([1, 2, 3, 4])
  })

  test('N3 the wall clock stops the work at any depth, keeps what was said, and resume goes on below', async () => {
    const world = simulatedWorld(3)
    const { push, done } = counting()
    const model = chunkModel(({ session }, signal) => {
      if (session.agent === 'lead')
        return session.turn === 1
          ? toolCallChunks({ name: 'task', input: { agent: 'worker', instruction: 'go' } })
          : textChunks('Fine.')
      const words = [{ type: 'text' as const, text: `Step ${session.turn}.` }, ...toolCallChunks({ name: 'push' })]
      return world.sleep(4000, signal).then(() => (session.turn <= 3 ? words : textChunks('All done.')))
    })
    const options = { model, agents: [agent('lead'), worker], tools: [push], engine: { world } }
    const { troupe, task } = await createTestTroupe({ ...options, limits: { wall_ms: 10_000 } })
    const result = await world.runUntil(task('lead', 'go'))
    expect(result).toMatchObject({ status: 'failed', stop_reason: 'budget', error: { alternatives: ['wall_ms'] } })
    expect([result.duration_ms, done.length]).toEqual([10_000, 2])
    const cut = eventData(await troupe.events(result.run_id), 'session:end')
    expect(cut[0]).toMatchObject({ stop_reason: 'budget', text: 'Step 1.\n\nStep 2.' })
    const handle = await troupe.resume(result.run_id, { limits: { wall_ms: 60_000 } })
    const resumed = await world.runUntil(handle.result)
    expect(resumed).toMatchObject({ status: 'completed', output: { response: 'Fine.' } })
    expect(done).toHaveLength(3)
    const asked = model.requests.filter(({ session }) => session.agent === 'worker').map(({ session }) => session.turn)
    expect(asked).toEqual([1, 2, 3, 3, 4])
  })

  test('N3 working time adds up over interruptions; a resumed run has only what is left', async () => {
    const world = simulatedWorld(1)
    const model = chunkModel(({ session }, signal) =>
      world
        .sleep(4000, signal)
        .then(() => (session.turn <= 3 ? toolCallChunks({ name: 'push' }) : textChunks('All done.'))),
    )
    const options = {
      model,
      agents: [worker],
      tools: [counting().push],
      engine: { world },
      limits: { wall_ms: 10_000 },
    }
    const one = await createTestTroupe(options)
    const handle = await one.troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await world.runUntil(world.sleep(6000))
    await world.runUntil(one.troupe.drain())
    expect((await one.troupe.result(handle.run_id)).status).toBe('pending')
    await world.runUntil(world.sleep(1_000_000))
    const two = await createTestTroupe({ ...options, store: one.troupe.store })
    const began = world.now()
    const resumed = await world.runUntil((await two.troupe.resume(handle.run_id)).result)
    expect([resumed.stop_reason, world.now() - began]).toEqual(['budget', 2000])
  })

  test('N4 limits that are none are refused with their names', async () => {
    const wrong = (limits: object) => createTroupe({ store: 'memory', limits })
    await expect(wrong({ calls: 0 })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('calls'),
    })
    await expect(wrong({ cals: 3 })).rejects.toMatchObject({ alternatives: Object.keys(DEFAULT_LIMITS) })
    await expect(wrong({ wall_ms: -1 })).rejects.toMatchObject({ code: 'invalid_input' })
    await expect(wrong({ depth: null })).rejects.toMatchObject({ code: 'invalid_input' })
    const { troupe } = await createTestTroupe({ model: working(), agents: [worker] })
    const run = troupe.run('task', { agent: 'worker', instruction: 'go' }, { limits: { tokens: 1.5 } })
    await expect(run).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await troupe.runs()).toEqual([])
  })

  test('N4 a limit that is null is none', async () => {
    const { result } = await stopped({ calls: null, tokens: null, usd: null, wall_ms: null })
    expect(result.status).toBe('completed')
  })
})

describe('reservations', () => {
  test('N5 fifty children at once against a budget for twenty calls never make the twenty-first', async () => {
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
    let most = 0
    let over = false
    const result = handle.result.finally(() => (over = true))
    while (!over) {
      most = Math.max(most, open.length)
      open.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { usage, error } = await result
    expect([made, usage.calls, most]).toEqual([20, 20, 7])
    expect(error).toMatchObject({ code: 'limit_reached', alternatives: ['calls'] })
    const spent = eventData(await troupe.events(handle.run_id), 'model:end')
    expect(usage.input).toBe(spent.reduce((sum, end) => sum + end.usage.input, 0))
  })

  test('N5 a call that does not fit waits while others may give something back, first come first served', async () => {
    const budget = new Budget({ ...DEFAULT_LIMITS, tokens: 1000 })
    const first = budget.reserve({ input: 100, output: 890 })
    const second = budget.reserve({ input: 100, output: 400 })
    const third = budget.reserve({ input: 1, output: 20 })
    if (first instanceof Promise) throw new Error('the first fits')
    const order: string[] = []
    const told = [
      Promise.resolve(second).then(({ output }) => order.push(`second ${output}`)),
      Promise.resolve(third).then(({ output }) => order.push(`third ${output}`)),
    ]
    budget.settle(first)
    await Promise.all(told)
    expect(order).toEqual(['second 400', 'third 20'])
  })

  test('N5 refused only when nothing is outstanding; a place in the queue is given up on abort', async () => {
    const budget = new Budget({ ...DEFAULT_LIMITS, calls: 1 })
    const first = budget.reserve({ input: 1, output: 20 })
    if (first instanceof Promise) throw new Error('the first fits')
    const aborted = new AbortController()
    const second = budget.reserve({ input: 1, output: 20 }, aborted.signal)
    const third = budget.reserve({ input: 1, output: 20 })
    aborted.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    budget.settle(first)
    const held = await third
    expect(() => budget.settle(held)).not.toThrow()
    const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }
    const message = { role: 'assistant' as const, content: [] }
    const data = { key: 'k', attempt: 1, message, stop: 'end' as const, usage, usd: null }
    budget.recordEvent({ run_id: 'r', seq: 1, at: 0, type: 'model:end', data })
    expect(() => budget.reserve({ input: 1, output: 20 })).toThrow('limit `calls` reached: 1 of 1 model calls')
  })

  test('N5 an agent that times out in the queue keeps no place in it', async () => {
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
