import { expect, test } from 'vitest'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe, functionModel } from '../../test/support/test-troupe.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import type { RateLimits } from './rate-limiter.ts'
import { createRateLimiter } from './rate-limiter.ts'

const MINUTE = 60_000
const signal = new AbortController().signal

function openLimiter(limits: RateLimits, processes = 1) {
  const world = simulatedWorld(3)
  const buckets = memoryStore({ now: () => world.now() })
  const onError = (error: unknown) => {
    throw error
  }
  const limiters = Array.from({ length: processes }, () => createRateLimiter(limits, { world, buckets, onError }))
  return { world, limiters, limiter: limiters[0] as (typeof limiters)[number] }
}

test('RL1 no minute has more requests than the limit, however many limiters share the store', async () => {
  for (const limit of [{ requests_per_minute: 30 }, { requests_per_minute: 7, burst: 7 }, { requests_per_minute: 1 }]) {
    const { world, limiters } = openLimiter({ acme: limit }, 3)
    const sent: number[] = []
    const send = async (index: number) => {
      await limiters[index % 3]?.acquire('acme/large', signal)
      sent.push(world.now())
    }
    await world.runUntil(Promise.all(Array.from({ length: 100 }, (_, index) => send(index))))
    const max = limit.requests_per_minute
    const perMinute = sent.map((from) => sent.filter((at) => at >= from && at < from + MINUTE).length)
    expect(Math.max(...perMinute)).toBeLessThanOrEqual(max)
    // It is a limit, not a brake: on average nearly as many are sent, unless all may be sent at once.
    if ('burst' in limit) continue
    expect((sent.at(-1) ?? 0) - (sent[0] ?? 0)).toBeLessThanOrEqual((100 / max + 1) * 1.2 * MINUTE)
  }
})

test('RL2 used tokens hold back later requests until they are refilled', async () => {
  const { world, limiter } = openLimiter({ acme: { tokens_per_minute: 1000 } })
  await world.runUntil(Promise.resolve(limiter.acquire('acme/large', signal)))
  limiter.recordTokens('acme/large', 5000)
  const before = world.now()
  await world.runUntil(Promise.resolve(limiter.acquire('acme/large', signal)))
  expect(world.now() - before).toBeGreaterThan(4 * MINUTE)
  expect(world.now() - before).toBeLessThan(6 * MINUTE)
})

test('RL3 limits of the provider and of the model both apply; a model without limits is not held back', async () => {
  const limits = { acme: { requests_per_minute: 100, burst: 10 }, 'acme/large': { requests_per_minute: 1 } }
  const { world, limiter } = openLimiter(limits)
  expect(limiter.acquire('other/model', signal)).toBeUndefined()
  const before = world.now()
  for (let n = 0; n < 9; n++) await world.runUntil(Promise.resolve(limiter.acquire('acme/small', signal)))
  await world.runUntil(Promise.resolve(limiter.acquire('acme/large', signal)))
  expect(world.now()).toBe(before)
  await world.runUntil(Promise.resolve(limiter.acquire('acme/large', signal)))
  expect(world.now() - before).toBeGreaterThanOrEqual(MINUTE)
})

test('RL4 an aborted wait ends and takes nothing', async () => {
  const { world, limiter } = openLimiter({ acme: { requests_per_minute: 1 } })
  await world.runUntil(Promise.resolve(limiter.acquire('acme/large', signal)))
  const before = world.now()
  const controller = new AbortController()
  const waiting = Promise.resolve(limiter.acquire('acme/large', controller.signal))
  waiting.catch(() => {})
  controller.abort(new Error('enough'))
  await expect(world.runUntil(waiting)).rejects.toThrow('enough')
  await world.runUntil(Promise.resolve(limiter.acquire('acme/large', signal)))
  expect(world.now() - before).toBeLessThanOrEqual(MINUTE + 1)
})

test('RL6 a run that is stopped before its next request takes nothing from the limit', async () => {
  const store = memoryStore()
  const takes: number[] = []
  const takeTokens = store.takeTokens.bind(store)
  store.takeTokens = (take) => {
    takes.push(take.amount)
    return takeTokens(take)
  }
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  // An empty response makes the loop request another one.
  const model = functionModel(async () => {
    entered.resolve()
    await released.promise
    return { text: '' }
  })
  const models = { rateLimits: { function: { requests_per_minute: 2, burst: 2 } } }
  const { troupe } = await createTestTroupe({ store, model, models, agents: [agent('lead')] })
  const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
  await entered.promise
  const drained = troupe.drain()
  released.resolve()
  await drained
  expect((await handle.result).status).toBe('pending')
  expect(takes).toEqual([1])
  await troupe.close()
})

test('RL5 an invalid limit is rejected with the name of the option, before a store is opened', async () => {
  const models = { rateLimits: { acme: { requests_per_minute: 0 } } }
  await expect(createTestTroupe({ models })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining("`models.rateLimits`: requests_per_minute of 'acme' is 0"),
  })
})
