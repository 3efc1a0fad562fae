import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { chunkModel, textChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe } from '../../test/support/test-troupe.ts'
import { TroupeError } from '../errors.ts'
import { NO_RETRIES } from '../kernel/retry-policy.ts'
import { loadProviderModel } from '../models/providers.ts'
import type { Change } from '../store/changes.ts'
import type { Store } from '../store/store.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import type { WaitingRequest } from '../views/waiting.ts'
import { lazy } from './lazy.ts'
import type { ExecutionParts } from './runtime-parts.ts'
import { createTroupe } from './troupe.ts'
import { WaitingReader } from './waiting-requests.ts'

const worker = agent('worker')
const go = { agent: 'worker', instruction: 'go' }
const patient = { timeout: 30_000 }
const START = Date.UTC(2030, 0, 1)

/** A server that takes requests and leaves them without an answer until the test is over. */
async function silentServer() {
  const responses: ServerResponse[] = []
  const server = createServer((request, response) => {
    request.resume()
    responses.push(response)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, responses, close }
}

const modelAt = (url: string) =>
  loadProviderModel('compatible/slow', { env: { TROUPE_COMPATIBLE_BASE_URL: url, TROUPE_COMPATIBLE_API_KEY: 'key' } })

describe('a stream', () => {
  test('TL18 tells of a silent request after 15 s, 60 s and each minute, and of nothing once it is over', async () => {
    const world = simulatedWorld(1)
    const never = new Promise<never>(() => {})
    const model = chunkModel(({ session }) => (session.turn === 1 ? never : []))
    const { troupe } = await createTestTroupe({ model, agents: [worker], engine: { world, retryPolicy: NO_RETRIES } })
    const told: [number, WaitingRequest][] = []
    const read = async () => {
      const handle = await troupe.stream('task', go)
      for await (const item of handle) if ('waiting' in item) told.push([world.now() - START, item.waiting])
      return handle.result
    }
    expect(await world.runUntil(read())).toMatchObject({ status: 'failed', error: { code: 'stream_interrupted' } })
    expect(told.map(([time]) => time)).toEqual([15_000, 60_000, 120_000, 180_000])
    expect(told[0]?.[1]).toMatchObject({
      ...{ agent: 'worker', model: 'manual', state: 'silent', since: START, attempt: 1, gives_up_at: START + 240_000 },
    })
  })

  test('TL18 tells of a long wait for a retry, with its end', async () => {
    const world = simulatedWorld(1)
    let tries = 0
    const failure = Object.assign(new TroupeError('model_rate_limited', 'no'), { status: 429, retry_after_ms: 40_000 })
    const model = chunkModel(() => {
      tries += 1
      if (tries === 1) throw failure
      return textChunks('done')
    })
    const { troupe } = await createTestTroupe({ model, agents: [worker], engine: { world } })
    const told: WaitingRequest[] = []
    const read = async () => {
      const handle = await troupe.stream('task', go)
      for await (const item of handle) if ('waiting' in item) told.push(item.waiting)
      return handle.result
    }
    expect(await world.runUntil(read())).toMatchObject({ status: 'completed' })
    expect(told).toMatchObject([
      {
        state: 'retrying',
        attempt: 2,
        max_attempts: 4,
        since: START,
        retry_at: START + 40_000,
        reason: 'rate limited',
      },
    ])
  })

  test('TL18 a reader that leaves while a request waits leaves no timer', async () => {
    const world = simulatedWorld(1)
    const released = Promise.withResolvers<void>()
    const model = chunkModel(() => released.promise.then(() => textChunks('done')))
    const { troupe } = await createTestTroupe({ model, agents: [worker], engine: { world } })
    const timers = () => world.pendingTasks().filter((task) => task.includes('15000'))
    const leave = async () => {
      const handle = await troupe.stream('task', go)
      let before: string[] = []
      for await (const item of handle) {
        if (!('event' in item) || item.event.type !== 'model:begin') continue
        before = timers()
        break
      }
      return { handle, before }
    }
    const { handle, before } = await world.runUntil(leave())
    expect(before).toHaveLength(1)
    expect(timers()).toEqual([])
    released.resolve()
    expect(await world.runUntil(handle.result)).toMatchObject({ status: 'completed' })
  })
})

describe('another reader', () => {
  test('TL18 a store in a file tells any process of the machine how far a request got', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-waiting-'))
    const { url, responses, close } = await silentServer()
    const store = join(folder, 'troupe.db')
    const model = await modelAt(url)
    const options = { store, model, agents: [worker], config: false, engine: { retryPolicy: NO_RETRIES } } as const
    const one = await createTroupe(options)
    const two = await createTroupe(options)
    onTestFinished(async () => {
      close()
      await Promise.all([one.close(), two.close()])
      await rm(folder, { recursive: true })
    })
    const handle = await one.stream('task', go)
    await expect.poll(async () => (await two.waiting(handle.run_id))[0]?.state, patient).toBe('silent')
    const [mine] = await one.waiting(handle.run_id)
    expect(await two.waiting(handle.run_id)).toEqual([mine])
    expect(mine).toMatchObject({ agent: 'worker', model: 'compatible/slow', last_received_at: null })
    expect((mine?.gives_up_at ?? 0) - (mine?.since ?? 0)).toBe(240_000)
    expect((await two.runSummaries([handle.run_id]))[0]?.waiting).toEqual([mine])
    // A request counts as sent before the server has it.
    await expect.poll(() => responses.length, patient).toBe(1)
    for (const response of responses) response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    await expect.poll(async () => (await two.waiting(handle.run_id))[0]?.state, patient).toBe('receiving')
    await handle.cancel()
    expect(await two.waiting(handle.run_id)).toEqual([])
    await expect(two.waiting('r_none')).rejects.toMatchObject({ code: 'unknown_run' })
  })
})

test('TL18 what is known of a run is dropped when the run ends, also if nobody reads it again', async () => {
  const requested = Promise.withResolvers<void>()
  const model = chunkModel(() => {
    requested.resolve()
    return new Promise<never>(() => {})
  })
  const store = memoryStore()
  const { troupe } = await createTestTroupe({ store, model, agents: [worker] })
  let subscriptions = 0
  const subscribe = (listener: (change: Change) => void) => {
    const unsubscribe = store.changes.subscribe(listener)
    subscriptions += 1
    return () => {
      subscriptions -= 1
      unsubscribe()
    }
  }
  const watched = { ...store, changes: { subscribe } } as Store
  const execution = lazy<ExecutionParts>(() => Promise.reject(new Error('not needed')))
  const reader = new WaitingReader({ store: watched, project: 'default', execution })
  const handle = await troupe.stream('task', go)
  await requested.promise
  expect(await reader.read(handle.run_id)).toMatchObject([{ agent: 'worker' }])
  expect(subscriptions).toBe(1)
  await handle.cancel()
  expect(subscriptions).toBe(0)
})

describe('the record of a response', () => {
  test('U47 status, id of the provider and time to the first byte are recorded with its outcome', async () => {
    let tries = 0
    const server = createServer((request, response) => {
      request.resume()
      tries += 1
      if (tries === 1) return void response.writeHead(503, { 'x-request-id': 'req_1' }).end('{}')
      response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_2' })
      response.end('data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    onTestFinished(() => void server.close())
    const model = await modelAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const { troupe, task } = await createTestTroupe({ model, agents: [worker] })
    const { run_id } = await task('worker', 'go')
    const events = await troupe.events(run_id).all()
    const outcomes = events.flatMap((event) =>
      event.type === 'model:error' || event.type === 'model:end' ? [event.data] : [],
    )
    expect(outcomes.map(({ response }) => response)).toEqual([
      { status: 503, request_id: 'req_1', first_byte_ms: expect.any(Number) },
      { status: 200, request_id: 'req_2', first_byte_ms: expect.any(Number) },
    ])
    expect(outcomes[0]).toMatchObject({ retry: { attempt: 2, of: 4 } })
  })
})
