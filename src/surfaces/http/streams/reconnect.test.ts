import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { parseSse } from '../../../../test/support/sse-client.ts'
import type { JournalWriter, StreamServer } from '../../../../test/support/stream-harness.ts'
import { createJournal, startStreamServer } from '../../../../test/support/stream-harness.ts'
import { openSqlite } from '../../../store/sqlite.ts'
import type { TimelineMessage } from '../../../views/timeline/timeline.ts'

/* Clients over HTTP that lose their connections, and a server that is restarted, while another store writes the journal. */

const cleanUps: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

type Action = { kind: 'append'; count: number } | { kind: 'disconnect'; client: number } | { kind: 'restart' }

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 40 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('disconnect' as const), client: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
)

/** Follows a stream as a page does: reconnects with the last id until it is stopped. */
class ReconnectingClient {
  readonly #url: () => string
  readonly #onMessage: (event: string, data: unknown) => void
  readonly #stopped = new AbortController()
  #connection = new AbortController()
  #lastId: string | undefined
  readonly done: Promise<void>

  constructor(url: () => string, onMessage: (event: string, data: unknown) => void) {
    this.#url = url
    this.#onMessage = onMessage
    this.done = this.#follow()
  }

  disconnect(): void {
    this.#connection.abort()
  }

  stop(): void {
    this.#stopped.abort()
    this.#connection.abort()
  }

  async #follow(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#connection = new AbortController()
      try {
        const headers: Record<string, string> = this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId }
        const response = await fetch(this.#url(), { headers, signal: this.#connection.signal })
        if (!response.body) continue
        for await (const { id, event, data } of parseSse(response.body)) {
          if (event === 'comment') continue
          if (id !== undefined) this.#lastId = id
          this.#onMessage(event, data)
        }
      } catch {
        // The connection broke, or the server is being restarted.
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
  }
}

interface World {
  server: StreamServer
  journal: JournalWriter
  restart(): Promise<void>
}

async function openWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-streams-'))
  cleanUps.push(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'troupe.db')
  const store = await openSqlite(path)
  const journal = await createJournal(store, 'r1')
  const world: World = {
    journal,
    server: await startStreamServer(path, { options: { ring_bytes: 3000 } }),
    async restart() {
      const port = Number(new URL(world.server.url).port)
      await world.server.close()
      world.server = await startStreamServer(path, { port, options: { ring_bytes: 3000 } })
    },
  }
  cleanUps.push(async () => {
    await world.server.close()
    await store.close()
  })
  return world
}

async function perform(
  world: World,
  clients: readonly ReconnectingClient[],
  actions: readonly Action[],
): Promise<void> {
  for (const each of actions) {
    if (each.kind === 'append') await world.journal.append(each.count)
    else if (each.kind === 'disconnect') clients[each.client]?.disconnect()
    else await world.restart()
    await new Promise(setImmediate)
  }
}

describe('reconnecting clients', () => {
  test('HT5 no event is lost or doubled across lost connections and restarts of the server', {
    timeout: process.env.TROUPE_STRESS === '1' ? 900_000 : 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 25 }), async (actions) => {
        const world = await openWorld()
        const seen: number[][] = [[], []]
        const rows: Map<string, TimelineMessage>[] = [new Map(), new Map()]
        const urlOf = (kind: string) => () => `${world.server.url}/r1/${kind}`
        const eventClients = seen.map(
          (list) => new ReconnectingClient(urlOf('events'), (_, data) => void list.push((data as { seq: number }).seq)),
        )
        const timelineClients = rows.map(
          (table) =>
            new ReconnectingClient(urlOf('timeline'), (event, data) => {
              if (event === 'panels') return
              if (event === 'snapshot') table.clear()
              const { timeline, rows: changed } = data as Record<string, { messages?: TimelineMessage[] } | undefined>
              for (const row of (timeline ?? changed)?.messages ?? []) table.set(row.id, row)
            }),
        )
        const clients = [...eventClients, ...timelineClients]
        await perform(world, clients, actions)
        const { head } = world.journal
        const journal = Array.from({ length: head }, (_, index) => index + 1)
        await waitUntil(() => seen.every((list) => list.length >= head) && rows.every((table) => table.size >= head))
        for (const client of clients) client.stop()
        await Promise.all(clients.map(({ done }) => done))
        for (const list of seen) expect(list).toEqual(journal)
        for (const table of rows) expect([...table.keys()].map(Number)).toEqual(journal)
        for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      }),
      { numRuns: process.env.TROUPE_STRESS === '1' ? 200 : 8 },
    )
  })
})

async function waitUntil(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 2))
}
