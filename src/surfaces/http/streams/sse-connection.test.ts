import { describe, expect, test, vi } from 'vitest'
import { parseSse, takeSse } from '../../../../test/support/sse-client.ts'
import type { SseClient, SseOptions } from './sse-connection.ts'
import { encodeFrame, sseBody } from './sse-connection.ts'

const options: SseOptions = { heartbeat_ms: 15_000, stall_ms: 20_000, buffer_bytes: 1000 }
const frame = (id: number, size = 100) => encodeFrame({ id, data: 'x'.repeat(size) })

describe('a connection', () => {
  test('HT1 a producer waits while more than `buffer_bytes` wait for the client', async () => {
    let written = 0
    const body = sseBody(async (client) => {
      for (let id = 1; id <= 1000; id += 1) {
        await client.write(frame(id))
        written = id
      }
    }, options)
    const events = parseSse(body)
    expect(await takeSse(events, 1)).toMatchObject([{ id: '1' }])
    await new Promise(setImmediate)
    expect(written).toBeLessThan(50)
    const rest = await takeSse(events, 1000)
    expect(rest.map(({ id }) => Number(id))).toEqual(Array.from({ length: 999 }, (_, index) => index + 2))
  })

  test('HT1 a frame that is larger than a chunk arrives whole', async () => {
    const body = sseBody(async (client) => {
      await client.write(frame(1, 300_000))
      await client.write(frame(2, 10))
    }, options)
    const events = await takeSse(parseSse(body), 3)
    expect(events.map(({ id, data }) => [id, String(data).length])).toEqual([
      ['1', 300_000],
      ['2', 10],
    ])
  })

  test('HT2 a comment is sent when there was no frame for `heartbeat_ms`', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    try {
      const body = sseBody(({ signal }) => aborted(signal), options)
      const next = parseSse(body).next()
      vi.advanceTimersByTime(15_000)
      expect(await next).toMatchObject({ value: { event: 'comment' } })
    } finally {
      vi.useRealTimers()
    }
  })

  test('HT3 a client that takes nothing for `stall_ms` is disconnected, and its producer is told', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    try {
      let client: SseClient | undefined
      const body = sseBody(async (given) => {
        client = given
        await given.write(frame(1, 5000))
        await given.write(frame(2))
        await aborted(given.signal)
      }, options)
      const reader = body.getReader()
      await reader.read()
      await new Promise(setImmediate)
      vi.advanceTimersByTime(25_000)
      expect(client?.signal.aborted).toBe(true)
      await expect(reader.read()).rejects.toThrow('does not read')
    } finally {
      vi.useRealTimers()
    }
  })

  test('a client that leaves ends its producer, also one that waits for room', async () => {
    const ended = Promise.withResolvers<string>()
    const body = sseBody(async (client) => {
      while (!client.signal.aborted) await client.write(frame(1, 2000))
      ended.resolve('ended')
    }, options)
    const reader = body.getReader()
    await reader.read()
    await reader.cancel()
    expect(await ended.promise).toBe('ended')
  })

  test('a producer that fails breaks the connection', async () => {
    const body = sseBody(() => Promise.reject(new Error('no store')), options)
    await expect(body.getReader().read()).rejects.toThrow('the stream broke off')
  })
})

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
