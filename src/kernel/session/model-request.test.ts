import { expect, test } from 'vitest'
import { agent, createTestTroupe, modelFromRules } from '../../../test/support/test-troupe.ts'
import { TroupeError } from '../../errors.ts'
import type { ModelChunk, ModelRequest } from '../../index.ts'
import { createRetryPolicy } from '../../models/retry.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { isEvent } from '../event.ts'

const worker = agent('worker')
const down = (status: number, more: Record<string, unknown> = {}) => ({
  reply: { error: { status, message: 'not now' } },
  ...more,
})
const up = { reply: { text: 'here' }, usage: { input: 7, output: 3 } }

async function plays(rules: Record<string, unknown>[], options: Parameters<typeof createRetryPolicy>[0] | object = {}) {
  const world = simulatedWorld(1)
  const retryPolicy = createRetryPolicy({ world, ...options })
  const { troupe, task } = await createTestTroupe({ rules, agents: [worker], engine: { world, retryPolicy } })
  const result = await world.runUntil(task('worker', 'go'))
  return { troupe, world, result, events: await troupe.events(result.run_id) }
}

test('RE1 a failure that may pass is tried again; each attempt is in the journal, with the wait and the model', async () => {
  const { result, events } = await plays([down(500, { times: 2 }), up])
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

test('RE2 what cannot succeed is not tried again', async () => {
  const { result } = await plays([down(400), up])
  expect(result).toMatchObject({ status: 'failed', usage: { calls: 1 } })
})

test('RE3 attempts are limited, and the last failure is the step’s', async () => {
  const { result, events } = await plays([down(503)], { maxAttempts: 3 })
  expect(result).toMatchObject({ status: 'failed', error: { code: 'model_failed', step: 'session/turn/1/model' } })
  expect(events.filter((event) => event.type === 'model:begin')).toHaveLength(3)
  expect(events.findLast((event) => event.type === 'model:error')?.data).not.toHaveProperty('next')
})

test('RE4 no attempt starts after the deadline of a call', async () => {
  const { events } = await plays([down(503)], { maxAttempts: 50, deadline_ms: 4000 })
  const begins = events.filter((event) => event.type === 'model:begin')
  expect(begins.length).toBeGreaterThan(1)
  expect((begins.at(-1)?.at ?? 0) - (begins[0]?.at ?? 0)).toBeLessThanOrEqual(4000)
})

/** A model that is rate limited once, for ten seconds, and then answers; `calls` keeps when it was asked. */
function limitedOnce(world: { now(): number }) {
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

test('RE5 a rate limit that one agent meets holds the others back too, for as long as the provider said', async () => {
  const world = simulatedWorld(3)
  const model = limitedOnce(world)
  const retryPolicy = createRetryPolicy({ world })
  const { troupe } = await createTestTroupe({ model, agents: [worker, agent('other')], engine: { world, retryPolicy } })
  const first = troupe.run('task', { agent: 'worker', instruction: 'a' })
  const later = world.sleep(1000).then(() => troupe.run('task', { agent: 'other', instruction: 'b' }))
  await world.runUntil(Promise.all([first, later]))
  const start = model.calls[0]?.at ?? 0
  expect(model.calls).toHaveLength(3)
  for (const call of model.calls.slice(1)) expect(call.at - start).toBeGreaterThanOrEqual(10_000)
})

test('RE6 after some failures the fallback model takes over, and the journal says so', async () => {
  const world = simulatedWorld(1)
  const second = { ...modelFromRules(up), name: 'second' }
  const first = { ...modelFromRules(down(500)), name: 'first' }
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
  const begins = (await troupe.events(result.run_id)).flatMap((event) =>
    isEvent(event, 'model:begin') ? event.data.model : [],
  )
  expect(begins).toEqual(['first', 'first', 'second'])
})

test('RE7 cancelling ends a wait between attempts', async () => {
  const world = simulatedWorld(1)
  const { troupe } = await createTestTroupe({
    rules: [down(503)],
    agents: [worker],
    engine: { world, retryPolicy: createRetryPolicy({ world, maxAttempts: 100, deadline_ms: 1e9 }) },
  })
  const handle = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
  const cancelled = world.sleep(5000).then(() => troupe.cancel(handle.run_id))
  expect(await world.runUntil(cancelled)).toMatchObject({ status: 'cancelled' })
})

test('RE8 every model of a list has its turn, and a limit that outlasts the call goes to the next at once', () => {
  const world = simulatedWorld(1)
  const { next } = createRetryPolicy({ world })
  const models = ['a', 'b', 'c']
  const fails = (model: string, attempts: number, more: object = {}) =>
    next({ model, models, attempts, elapsed_ms: 0, error: new TroupeError('model_failed', 'down'), ...more })?.model
  expect([fails('a', 1), fails('a', 2), fails('b', 3), fails('b', 4), fails('c', 5), fails('c', 6)]).toEqual([
    'a',
    'b',
    'b',
    'c',
    'c',
    undefined,
  ])
  const limited = { error: new TroupeError('model_rate_limited', 'slow down'), retry_after_ms: 3_600_000 }
  expect(fails('a', 1, limited)).toBe('b')
  const empty = { error: new TroupeError('model_rate_limited', 'no money left', { retry: false }) }
  expect(fails('a', 1, empty)).toBe('b')
  expect(fails('c', 1, empty)).toBeUndefined()
})
