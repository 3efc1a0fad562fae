import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { memoryStore } from '../../../../test/support/memory-store.ts'
import { parseSse, takeSse } from '../../../../test/support/sse-client.ts'
import { createJournal, quickStreams, rowPerEvent } from '../../../../test/support/stream-harness.ts'
import type { Troupe } from '../../../index.ts'
import { createTroupe } from '../../../index.ts'
import { errorResponseFrom } from '../checks/error-response.ts'
import { createRequestLimits } from '../checks/request-limits.ts'
import type { HttpApp, HttpEnvironment } from '../http-parts.ts'
import { mountStreams } from './mount-streams.ts'

const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

interface Setup {
  journal: Awaited<ReturnType<typeof createJournal>>
  troupe: Troupe
  get(path: string, headers?: Record<string, string>): Promise<Response>
}

async function setUp(streams = 100): Promise<Setup> {
  const store = memoryStore()
  const troupe = await createTroupe({ store, project: 'default', config: false })
  const journal = await createJournal(store, 'r1')
  await journal.append(4)
  const stopping = new AbortController()
  open.push(async () => {
    stopping.abort()
    await troupe.close()
  })
  const app: HttpApp = new Hono<HttpEnvironment>()
  app.onError((thrown, context) => {
    const { status, body } = errorResponseFrom(thrown)
    return context.json(body, status)
  })
  app.use(async (context, next) => {
    const name = context.req.header('x-name') ?? 'ada'
    context.set('principal', { name, scopes: ['read'] })
    context.set('troupe', troupe)
    await next()
  })
  const { openStream } = createRequestLimits({ streams })
  const newFold = async () => rowPerEvent()
  mountStreams(app, { signal: stopping.signal, openStream, newFold, options: quickStreams })
  app.get('/api/runs/:run_id/events', (context) => context.json({ events: [], next: null }))
  const get = async (path: string, headers: Record<string, string> = {}) =>
    app.request(path, { headers: { accept: 'text/event-stream', ...headers } })
  return { troupe, get, journal }
}

function eventsOf(response: Response) {
  if (!response.body) throw new Error('no body')
  const events = parseSse(response.body)
  open.push(async () => void (await events.return()))
  return events
}

describe('the routes of streams', () => {
  test('HT27 one connection has the lists and the timelines of several runs; one that does not exist is gone', async () => {
    const { get, journal } = await setUp()
    const response = await get('/api/watch?run=r1&run=none')
    const events = eventsOf(response)
    const seen: string[] = []
    let run = ''
    const readUntil = async (wanted: string) => {
      while (!seen.includes(wanted)) {
        const [next] = await takeSse(events, 1)
        if (!next) throw new Error('the stream ended')
        if (next.event === 'run') run = (next.data as { run_id: string }).run_id
        else {
          seen.push(`${run}:${next.event}${next.id === undefined ? '' : ` ${next.id}`}`)
          run = ''
        }
      }
    }
    for (const wanted of ['r1:snapshot 5', 'none:gone', ':inbox']) await readUntil(wanted)
    await journal.append(1)
    await readUntil('r1:changes 6')
    await readUntil(':runs')
    const again = eventsOf(await get('/api/watch?run=r1@5'))
    const later = (await takeSse(again, 5)).map(({ event }) => event)
    expect(later).not.toContain('snapshot')
    expect(later).toContain('changes')
    expect((await get(`/api/watch?run=${'r,'.repeat(60)}`)).status).toBe(400)
  })

  test('HT5 `Last-Event-ID` continues after an event; without it all events come', async () => {
    const { get } = await setUp()
    const response = await get('/api/runs/r1/events')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect((await takeSse(eventsOf(response), 5)).map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5'])
    const again = await get('/api/runs/r1/events', { 'last-event-id': '3' })
    expect((await takeSse(eventsOf(again), 2)).map(({ id }) => id)).toEqual(['4', '5'])
    const timeline = await get('/api/runs/r1/timeline', { 'last-event-id': '5' })
    expect(await takeSse(eventsOf(timeline), 1)).toMatchObject([{ event: 'panels', data: { seq: 5 } }])
  })

  test.each(['-1', '1.5', 'x', '99999999999999999', '1e3'])('HT5 `Last-Event-ID: %s` is refused', async (id) => {
    const { get } = await setUp()
    const response = await get('/api/runs/r1/events', { 'last-event-id': id })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_input', hint: expect.stringMatching(/header/) },
    })
  })

  test('HT5 an id beyond the last event is refused for events and gets a snapshot for the timeline', async () => {
    const { get } = await setUp()
    expect((await get('/api/runs/r1/events', { 'last-event-id': '6' })).status).toBe(400)
    const timeline = await get('/api/runs/r1/timeline', { 'last-event-id': '6' })
    expect(await takeSse(eventsOf(timeline), 1)).toMatchObject([{ event: 'snapshot', id: '5' }])
  })

  test('HT7 a run that does not exist is 404', async () => {
    const { get } = await setUp()
    for (const path of ['/api/runs/r9/events', '/api/runs/r9/timeline']) expect((await get(path)).status).toBe(404)
  })

  test('HS9 a principal that has too many streams is refused, until one has ended', async () => {
    const { get } = await setUp(2)
    const [first] = [eventsOf(await get('/api/runs/r1/events')), eventsOf(await get('/api/changes'))]
    const refused = await get('/api/runs/r1/timeline')
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { code: 'too_many_requests' } })
    expect((await get('/api/changes', { 'x-name': 'eve' })).status).toBe(200)
    await takeSse(first, 1)
    await first.return()
    await new Promise(setImmediate)
    expect((await get('/api/changes')).status).toBe(200)
  })

  test('a request that does not accept a stream is passed on', async () => {
    const { get } = await setUp()
    const response = await get('/api/runs/r1/events', { accept: 'application/json' })
    expect(await response.json()).toEqual({ events: [], next: null })
  })
})
