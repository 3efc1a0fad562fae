import { afterEach, describe, expect, test } from 'vitest'
import { memoryStore } from '../../../../test/support/memory-store.ts'
import type { SseEvent } from '../../../../test/support/sse-client.ts'
import { parseSse, takeSse } from '../../../../test/support/sse-client.ts'
import { createJournal, quickStreams, rowPerEvent } from '../../../../test/support/stream-harness.ts'
import type { Store, Troupe } from '../../../index.ts'
import { createTroupe } from '../../../index.ts'
import type { TimelineMessage } from '../../../views/timeline/timeline.ts'
import type { SseProducer } from './sse-connection.ts'
import type { ServerStreamOptions, Streams } from './streams.ts'
import { createStreams } from './streams.ts'
import type { TimelineFold } from './timeline-feed.ts'

const open: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

interface Setup {
  store: Store
  troupe: Troupe
  streams: Streams
  /** Connects a client. */
  connect(produce: SseProducer): AsyncGenerator<SseEvent, void>
}

async function setUp(
  options: Partial<ServerStreamOptions> = {},
  newFold: () => TimelineFold = rowPerEvent,
): Promise<Setup> {
  const store = memoryStore()
  const troupe = await createTroupe({ store, project: 'default', config: false })
  const streams = createStreams({
    troupe,
    newFold: async () => newFold(),
    options: { ...quickStreams, ...options },
  })
  open.push(async () => {
    streams.close()
    await troupe.close()
  })
  const connect = (produce: SseProducer) => {
    const { body } = streams.respond(produce)
    if (!body) throw new Error('no body')
    const events = parseSse(body)
    open.push(() => events.return())
    return events
  }
  return { store, troupe, streams, connect }
}

const ids = (events: readonly SseEvent[]) => events.map(({ id }) => Number(id))
const seqs = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe('the stream of events', () => {
  test('HT4 a client gets all events in order, stored and new ones, with the seq as id', async () => {
    const { store, connect, streams, troupe } = await setUp()
    const journal = await createJournal(store, 'r1')
    await journal.append(9)
    const events = connect(streams.events('r1', 0))
    expect(ids(await takeSse(events, 10))).toEqual(seqs(1, 10))
    await journal.append(5)
    const live = await takeSse(events, 5)
    expect(ids(live)).toEqual(seqs(11, 15))
    expect(live[4]?.data).toEqual((await troupe.events('r1').all())[14])
  })

  test('HT5 a client that reconnects gets the events after its `Last-Event-ID`', async () => {
    const { store, connect, streams } = await setUp()
    const journal = await createJournal(store, 'r1')
    await journal.append(9)
    expect(ids(await takeSse(connect(streams.events('r1', 7)), 3))).toEqual([8, 9, 10])
  })

  test('HT6 the stream goes on when a run that has ended is resumed', async () => {
    const { store, connect, streams } = await setUp()
    const journal = await createJournal(store, 'r1')
    await journal.append(1)
    await journal.end()
    const events = connect(streams.events('r1', 0))
    expect(ids(await takeSse(events, 3))).toEqual([1, 2, 3])
    const next = takeSse(events, 2)
    await journal.reopen()
    await journal.append(1)
    expect(ids(await next)).toEqual([4, 5])
  })

  test('HT7 when a run is deleted, its watchers get `gone` and the stream ends', async () => {
    const { store, connect, streams, troupe } = await setUp()
    const journal = await createJournal(store, 'r1')
    await journal.end()
    const events = connect(streams.events('r1', 0))
    const timeline = connect(streams.timeline('r1', undefined))
    await takeSse(events, 2)
    await takeSse(timeline, 1)
    await troupe.deleteRuns(['r1'])
    for (const stream of [events, timeline]) {
      expect(await takeSse(stream, 2)).toEqual([{ id: undefined, event: 'gone', data: { run_id: 'r1' } }])
    }
    expect(await takeSse(connect(streams.timeline('r1', undefined)), 2)).toMatchObject([{ event: 'gone' }])
  })

  test('HT7 when a run that waits is deleted, its watchers get `gone`', async () => {
    const { store, connect, streams, troupe } = await setUp()
    const journal = await createJournal(store, 'r1')
    await journal.release()
    const events = connect(streams.events('r1', 0))
    await takeSse(events, 1)
    await troupe.deleteRuns(['r1'])
    expect(await takeSse(events, 2)).toMatchObject([{ event: 'gone' }])
  })

  test('HT8 a store that fails ends the stream with an error, and the next connection reads it again', async () => {
    const { store, connect, streams } = await setUp()
    const journal = await createJournal(store, 'r1')
    await journal.append(3)
    const read = store.events.bind(store)
    store.events = () => Promise.reject(new Error('disk'))
    await expect(takeSse(connect(streams.events('r1', 0)), 1)).rejects.toThrow('broke off')
    await expect(takeSse(connect(streams.timeline('r1', undefined)), 1)).rejects.toThrow('broke off')
    store.events = read
    expect(ids(await takeSse(connect(streams.events('r1', 2)), 2))).toEqual([3, 4])
    expect(await takeSse(connect(streams.timeline('r1', undefined)), 1)).toMatchObject([{ event: 'snapshot', id: '4' }])
  })

  test('a stream that ended tells so, once', async () => {
    const { store, streams } = await setUp()
    await createJournal(store, 'r1')
    let ended = 0
    const onEnd = () => {
      ended += 1
    }
    const { body } = streams.respond(streams.events('r1', 0), { onEnd })
    const events = parseSse(body as ReadableStream<Uint8Array>)
    await takeSse(events, 1)
    expect(ended).toBe(0)
    await events.return()
    await new Promise(setImmediate)
    expect(ended).toBe(1)
  })
})

describe('the stream of a timeline', () => {
  /** The rows that a client has after these messages, as a page applies them. */
  function rowsOf(messages: readonly SseEvent[]): string[] {
    const rows = new Map<string, TimelineMessage>()
    for (const { event, data } of messages) {
      if (event === 'snapshot') rows.clear()
      const { timeline, rows: changed } = data as { timeline?: unknown; rows?: unknown }
      const { messages: list = [] } = (timeline ?? changed ?? {}) as { messages?: TimelineMessage[] }
      for (const row of list) rows.set(row.id, row)
    }
    return [...rows.keys()]
  }

  async function takeUntil(events: AsyncIterator<SseEvent>, seq: number): Promise<SseEvent[]> {
    const taken: SseEvent[] = []
    while (Number(taken.at(-1)?.id ?? 0) < seq) taken.push(...(await takeSse(events, 1)))
    return taken
  }

  test('HT10 a client gets a snapshot and then the changes', async () => {
    const { store, connect, streams } = await setUp()
    const journal = await createJournal(store, 'r1')
    await journal.append(9)
    const events = connect(streams.timeline('r1', undefined))
    const [snapshot] = await takeSse(events, 1)
    expect(snapshot).toMatchObject({ id: '10', event: 'snapshot', data: { seq: 10 } })
    await journal.append(5)
    const messages = [snapshot as SseEvent, ...(await takeUntil(events, 15))]
    expect(messages.slice(1).every(({ event }) => event === 'changes')).toBe(true)
    expect(rowsOf(messages)).toEqual(seqs(1, 15).map(String))
  })

  test('all clients of a run share one fold, which is closed after the last one left', async () => {
    let folds = 0
    const { store, connect, streams } = await setUp({}, () => {
      folds += 1
      return rowPerEvent()
    })
    const journal = await createJournal(store, 'r1')
    await journal.append(3)
    const clients = Array.from({ length: 20 }, () => connect(streams.timeline('r1', undefined)))
    await Promise.all(clients.map((client) => takeSse(client, 1)))
    expect([folds, streams.feeds]).toEqual([1, 1])
    for (const client of clients) await client.return()
    while (streams.feeds > 0) await new Promise((resolve) => setTimeout(resolve, 1))
  })

  test('HT12 a client that reconnects gets only what came after its `Last-Event-ID`, if that is still there', async () => {
    const { store, connect, streams } = await setUp({ ring_bytes: 2000 })
    const journal = await createJournal(store, 'r1')
    const first = connect(streams.timeline('r1', undefined))
    await takeSse(first, 1)
    await journal.append(3)
    await takeUntil(first, 4)
    const again = connect(streams.timeline('r1', 1))
    const messages = await takeUntil(again, 4)
    expect(messages.map(({ event }) => event)).toEqual(['panels', ...messages.slice(1).map(() => 'changes')])
    expect(rowsOf(messages)).toEqual(['2', '3', '4'])
    for (let round = 0; round < 20; round += 1) {
      await journal.append(5)
      await takeUntil(first, journal.head)
    }
    const late = await takeUntil(connect(streams.timeline('r1', 4)), journal.head)
    expect(late[0]?.event).toBe('snapshot')
    expect(rowsOf(late)).toEqual(seqs(1, journal.head).map(String))
  })

  test('HT12 a `Last-Event-ID` that the run does not have gets a snapshot', async () => {
    const { store, connect, streams } = await setUp()
    await createJournal(store, 'r1')
    expect(await takeSse(connect(streams.timeline('r1', 99)), 1)).toMatchObject([{ event: 'snapshot', id: '1' }])
  })

  test('HT13 a client that is too slow for the ring gets a new snapshot, and memory stays bounded', async () => {
    const { store, connect, streams } = await setUp({ ring_bytes: 4000, buffer_bytes: 500 })
    const journal = await createJournal(store, 'r1')
    const slow = connect(streams.timeline('r1', undefined))
    const fast = connect(streams.timeline('r1', undefined))
    const seen = await takeSse(slow, 1)
    for (let round = 0; round < 50; round += 1) {
      await journal.append(4)
      await takeUntil(fast, journal.head)
    }
    seen.push(...(await takeUntil(slow, journal.head)))
    expect(seen.filter(({ event }) => event === 'snapshot').length).toBeGreaterThan(1)
    expect(rowsOf(seen)).toEqual(seqs(1, journal.head).map(String))
  })

  test('HT14 `panels` is sent when panels may have changed, before the changes of the same seq', async () => {
    const { store, connect, streams } = await setUp({}, () => ({ ...rowPerEvent(), changesPanels: () => true }))
    const journal = await createJournal(store, 'r1')
    const events = connect(streams.timeline('r1', undefined))
    await takeSse(events, 1)
    await journal.append(1)
    expect(await takeSse(events, 2)).toMatchObject([
      { event: 'panels', id: undefined, data: { seq: 2 } },
      { event: 'changes', id: '2' },
    ])
  })
})

describe('the stream of lists', () => {
  test('HT15 clients learn of the open questions and of runs that are new, changed or deleted', async () => {
    const { store, connect, streams, troupe } = await setUp()
    const journal = await createJournal(store, 'r1')
    const [one, two] = [connect(streams.lists()), connect(streams.lists())]
    for (const client of [one, two])
      expect(await takeSse(client, 1)).toEqual([{ id: undefined, event: 'inbox', data: { open: 0 } }])
    await journal.append(1)
    for (const client of [one, two])
      expect(await takeSse(client, 1)).toMatchObject([{ event: 'runs', data: { run_ids: ['r1'] } }])
    const other = await createJournal(store, 'r2')
    await other.ask()
    const told = await takeTypes(one, ['runs', 'inbox'])
    expect(told.inbox).toEqual({ open: 1 })
    expect(told.runs).toMatchObject({ run_ids: expect.arrayContaining(['r2']) })
    await journal.end()
    await takeTypes(one, ['runs'])
    await troupe.deleteRuns(['r1'])
    expect((await takeTypes(one, ['runs'])).runs).toEqual({ run_ids: ['r1'] })
  })

  /** Takes events until there is one of each type; the last ones. */
  async function takeTypes(
    events: AsyncIterator<SseEvent>,
    types: readonly string[],
  ): Promise<Record<string, unknown>> {
    const taken: Record<string, unknown> = {}
    while (!types.every((type) => type in taken)) {
      for (const { event, data } of await takeSse(events, 1)) taken[event] = data
    }
    return taken
  }
})
