import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../../../test/support/http-harness.ts'
import { memoryStore } from '../../../../test/support/memory-store.ts'
import { parseSse, takeSse } from '../../../../test/support/sse-client.ts'
import { createJournal } from '../../../../test/support/stream-harness.ts'
import { encodeFrame, sseBody } from '../streams/sse-connection.ts'
import { GzipFrames } from './gzip-frames.ts'
import { acceptsGzip } from './gzip-response.ts'

const script = `start(${JSON.stringify('text '.repeat(2000))})`

describe('compressed responses', () => {
  test('HS32 JSON and files of the page are compressed for clients that accept it, and only for those', async () => {
    const server = await startTestServer({ page: (name) => (name === 'app.js' ? script : undefined) })
    const authorization = `Bearer ${server.token}`
    const get = (path: string, encoding?: string) =>
      fetch(`${server.server.address}${path}`, {
        headers: { authorization, 'accept-encoding': encoding ?? 'identity' },
      })
    for (const path of ['/api/openapi.json', '/app.js']) {
      const [plain, packed] = [await get(path), await get(path, 'gzip, br')]
      expect(plain.headers.get('content-encoding')).toBe(null)
      expect(packed.headers.get('content-encoding')).toBe('gzip')
      expect(packed.headers.get('vary')).toContain('accept-encoding')
      expect(Number(packed.headers.get('content-length'))).toBeLessThan(Number(plain.headers.get('content-length')) / 4)
      expect(await packed.text()).toBe(await plain.text())
    }
    expect((await get('/api/runs', 'gzip')).headers.get('content-encoding')).toBe(null)
  })

  test('HS32 a response with the CSRF token is not compressed, however long it is', async () => {
    const server = await startTestServer()
    const session = await fetch(`${server.server.address}/api/session`, {
      headers: { authorization: `Bearer ${server.token}`, 'accept-encoding': 'gzip' },
    })
    expect(session.headers.get('content-encoding')).toBe(null)
    expect((await session.text()).length).toBeGreaterThan(2000)
  })

  test('HS32 `Accept-Encoding` is read with its weights', () => {
    for (const header of ['gzip', 'br, gzip;q=0.5', 'GZIP', '*']) expect(acceptsGzip(header), header).toBe(true)
    for (const header of [undefined, '', 'br', 'gzip;q=0', 'gzip; q=0.0', 'xgzip'])
      expect(acceptsGzip(header)).toBe(false)
  })
})

async function readAll(body: ReadableStream<Uint8Array>): Promise<Buffer> {
  return Buffer.from(await new Response(body).arrayBuffer())
}

describe('compressed streams', () => {
  test('HT26 frames of any size, short and long, arrive whole and in order, and the checksum of the stream is right', async () => {
    const sizes = fc.array(fc.oneof(fc.nat(500), fc.nat(5000), fc.constant(70_000), fc.constant(200_000)), {
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        const frames = lengths.map((length, id) => encodeFrame({ id, data: randomBytes(length).toString('latin1') }))
        const body = sseBody(
          async (client) => {
            // Not every producer waits: a heartbeat comes at any time.
            for (const [index, frame] of frames.entries()) {
              const written = client.write(frame)
              if (index % 3 !== 0) await written
            }
          },
          undefined,
          { gzip: true },
        )
        // `gunzipSync` checks the checksum and the length at the end.
        expect(gunzipSync(await readAll(body)).equals(Buffer.concat(frames))).toBe(true)
      }),
      { numRuns: 25 },
    )
  })

  test('HT26 a frame is compressed once for all clients', () => {
    const frame = encodeFrame({ id: 1, data: 'x'.repeat(1000) })
    expect(new GzipFrames().encode(frame)).toBe(new GzipFrames().encode(frame))
  })

  test('HT26 a client that accepts gzip reads each event as soon as it is written', async () => {
    const store = memoryStore()
    const journal = await createJournal(store, 'r1')
    await journal.append(2)
    const server = await startTestServer({ troupe: { store } })
    const read = async (path: string) => {
      const response = await fetch(`${server.server.address}${path}`, {
        headers: { authorization: `Bearer ${server.token}`, accept: 'text/event-stream', 'accept-encoding': 'gzip' },
      })
      expect(response.headers.get('content-encoding')).toBe('gzip')
      return parseSse(response.body as ReadableStream<Uint8Array>)
    }
    const events = await read('/api/runs/r1/events')
    expect((await takeSse(events, 3)).map(({ id }) => id)).toEqual(['1', '2', '3'])
    const timeline = await read('/api/runs/r1/timeline')
    expect(await takeSse(timeline, 1)).toMatchObject([{ event: 'snapshot', id: '3' }])
    await journal.append(1)
    expect(await takeSse(events, 1)).toMatchObject([{ id: '4' }])
    for (const stream of [events, timeline]) await stream.return()
  })
})
