import { expect, test } from 'vitest'
import { agent, createTestTroupe, modelFromRules } from '../../../test/support/test-troupe.ts'
import type { ModelChunk, ModelRequest } from '../../entries/models.ts'
import { TroupeError } from '../../errors.ts'
import { isEvent } from '../../kernel/event.ts'
import { createRetryPolicy } from '../../models/retry.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'

const worker = agent('worker')
const fails = (status: number, more: Record<string, unknown> = {}) => ({
  reply: { error: { status, message: 'not now' } },
  ...more,
})
const succeeds = { reply: { text: 'here' }, usage: { input: 7, output: 3 } }

async function runWithRules(
  rules: Record<string, unknown>[],
  options: Parameters<typeof createRetryPolicy>[0] | object = {},
) {
  const world = simulatedWorld(1)
  const retryPolicy = createRetryPolicy({ world, ...options })
  const { troupe, task } = await createTestTroupe({ rules, agents: [worker], engine: { world, retryPolicy } })
  const result = await world.runUntil(task('worker', 'go'))
  return { troupe, world, result, events: await troupe.events(result.run_id).all() }
}

test('RE1 a retryable failure is retried, and each model:error records the delay and the next model', async () => {
  const { result, events } = await runWithRules([fails(500, { times: 2 }), succeeds])
  expect(result).toMatchObject({ status: 'completed', usage: { calls: 3, input: 7, output: 3 } })
  const errors = events.flatMap((event) => (isEvent(event, 'model:error') ? event.data : []))
  expect(errors.map((error) => [error.attempt, error.retry?.model])).toEqual([
    [1, 'scripted'],
    [2, 'scripted'],
  ])
  expect(errors.every((error) => (error.retry?.delay_ms ?? 0) > 0)).toBe(true)
  const begins = events.filter((event) => event.type === 'model:begin')
  expect(begins[1]?.at).toBeGreaterThanOrEqual((begins[0]?.at ?? 0) + (errors[0]?.retry?.delay_ms ?? 0))
})

test('RE2 an error that is not retryable is not retried', async () => {
  const { result } = await runWithRules([fails(400), succeeds])
  expect(result).toMatchObject({ status: 'failed', usage: { calls: 1 } })
})

test('RE3 after maxAttempts the last error fails the step', async () => {
  const { result, events } = await runWithRules([fails(503)], { maxAttempts: 3 })
  expect(result).toMatchObject({ status: 'failed', error: { code: 'model_failed', step: 'session/turn/1/model' } })
  expect(events.filter((event) => event.type === 'model:begin')).toHaveLength(3)
  expect(events.findLast((event) => event.type === 'model:error')?.data).not.toHaveProperty('retry')
})

test('RE9 a resumed run has all its attempts again, and a lost request is no failed one', async () => {
  const { troupe, world, result } = await runWithRules([fails(503, { times: 5 }), succeeds], { maxAttempts: 3 })
  expect(result).toMatchObject({ status: 'failed', usage: { calls: 3 } })
  const resumed = await world.runUntil(troupe.resume(result.run_id).then((handle) => handle.result))
  expect(resumed).toMatchObject({ status: 'completed', usage: { calls: 6 } })
})

test('RE4 no attempt starts after deadline_ms', async () => {
  const { events } = await runWithRules([fails(503)], { maxAttempts: 50, deadline_ms: 4000 })
  const begins = events.filter((event) => event.type === 'model:begin')
  expect(begins.length).toBeGreaterThan(1)
  expect((begins.at(-1)?.at ?? 0) - (begins[0]?.at ?? 0)).toBeLessThanOrEqual(4000)
})

/** A model that is rate limited once, for ten seconds; `calls` records when it was called. */
function rateLimitedOnce(world: { now(): number }) {
  const calls: { agent: string; at: number }[] = []
  return {
    name: 'busy/one',
    calls,
    async *stream(request: ModelRequest): AsyncGenerator<ModelChunk> {
      calls.push({ agent: request.session.agent, at: world.now() })
      if (calls.length === 1) {
        throw Object.assign(new TroupeError('model_rate_limited', 'slow down'), { status: 429, retry_after_ms: 10_000 })
      }
      yield { type: 'text', text: 'ok' }
      yield { type: 'finish', stop: 'end' }
    },
  }
}

test('RE5 a rate limit of one agent delays the others too, as long as retry_after_ms says', async () => {
  const world = simulatedWorld(3)
  const model = rateLimitedOnce(world)
  const retryPolicy = createRetryPolicy({ world })
  const { troupe } = await createTestTroupe({ model, agents: [worker, agent('other')], engine: { world, retryPolicy } })
  const first = troupe.run('task', { agent: 'worker', instruction: 'a' })
  const later = world.sleep(1000).then(() => troupe.run('task', { agent: 'other', instruction: 'b' }))
  await world.runUntil(Promise.all([first, later]))
  const start = model.calls[0]?.at ?? 0
  expect(model.calls).toHaveLength(3)
  for (const call of model.calls.slice(1)) expect(call.at - start).toBeGreaterThanOrEqual(10_000)
})

test('RE6 after repeated failures the fallback model takes over, and model:begin names it', async () => {
  const world = simulatedWorld(1)
  const second = { ...modelFromRules(succeeds), name: 'second' }
  const first = { ...modelFromRules(fails(500)), name: 'first' }
  const retryPolicy = createRetryPolicy({ world })
  const models = {
    resolve: (name: string | undefined) => (name === 'second' ? second : first),
    fallbacks: () => ['second'],
  }
  const { troupe, task } = await createTestTroupe({
    agents: [worker],
    engine: { world, retryPolicy },
    models: { resolver: models },
  })
  const result = await world.runUntil(task('worker', 'go'))
  expect(result).toMatchObject({ status: 'completed' })
  const begins = (await troupe.events(result.run_id).all()).flatMap((event) =>
    isEvent(event, 'model:begin') ? event.data.model : [],
  )
  expect(begins).toEqual(['first', 'first', 'second'])
})

test('RE7 cancelling ends the wait between attempts', async () => {
  const world = simulatedWorld(1)
  const { troupe } = await createTestTroupe({
    rules: [fails(503)],
    agents: [worker],
    engine: { world, retryPolicy: createRetryPolicy({ world, maxAttempts: 100, deadline_ms: 1e9 }) },
  })
  const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
  const cancelled = world.sleep(5000).then(() => troupe.cancel(handle.run_id))
  expect(await world.runUntil(cancelled)).toMatchObject({ status: 'cancelled' })
})

test('RE8 every fallback gets its attempts, and a rate limit longer than the deadline moves on at once', () => {
  const world = simulatedWorld(1)
  const { next } = createRetryPolicy({ world })
  const models = ['a', 'b', 'c']
  const nextModel = (model: string, attempts: number, more: object = {}) =>
    next({ model, models, attempts, elapsed_ms: 0, error: new TroupeError('model_failed', 'down'), ...more })?.model
  expect([
    nextModel('a', 1),
    nextModel('a', 2),
    nextModel('b', 3),
    nextModel('b', 4),
    nextModel('c', 5),
    nextModel('c', 6),
  ]).toEqual(['a', 'b', 'b', 'c', 'c', undefined])
  const limited = { error: new TroupeError('model_rate_limited', 'slow down'), retry_after_ms: 3_600_000 }
  expect(nextModel('a', 1, limited)).toBe('b')
  const noCredit = { error: new TroupeError('model_rate_limited', 'no money left', { retry: false }) }
  expect(nextModel('a', 1, noCredit)).toBe('b')
  expect(nextModel('c', 1, noCredit)).toBeUndefined()
})
