import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Event, Store, Troupe } from '../../src/index.ts'
import { createTroupe, DEFAULT_LIMITS } from '../../src/index.ts'
import type { ServerStreamOptions, Streams } from '../../src/surfaces/http/streams/streams.ts'
import { createStreams } from '../../src/surfaces/http/streams/streams.ts'
import type { TimelineFold } from '../../src/surfaces/http/streams/timeline-feed.ts'
import type { RunWriter } from '../../src/testing/store/store-harness.ts'
import { createLeasedRun, takeOverRun } from '../../src/testing/store/store-harness.ts'
import type { Timeline, TimelineMessage } from '../../src/views/timeline/timeline.ts'

/** Appends events to the journal of a run as an engine does, without models. */
export async function createJournal(store: Store, run_id: string): Promise<JournalWriter> {
  return new JournalWriter(await createLeasedRun(store, run_id))
}

export class JournalWriter {
  #writer: RunWriter

  constructor(writer: RunWriter) {
    this.#writer = writer
  }

  get head(): number {
    return this.#writer.head
  }

  async append(count: number, size = 20): Promise<void> {
    const text = 'x'.repeat(size)
    await this.#append(
      Array.from({ length: count }, () =>
        this.#writer.nextEvent('custom:note', { key: `note/${this.#writer.head}`, text }),
      ),
    )
  }

  /** Opens a question. */
  async ask(): Promise<void> {
    const gate = { key: 'ask', gate_id: `gate of ${this.#writer.run_id}`, question: 'Go on?' }
    await this.#append([this.#writer.nextEvent('gate:open', gate)])
  }

  async end(): Promise<void> {
    const data = { status: 'completed', stop_reason: 'completed', output: null, error: null } as const
    await this.#append([this.#writer.nextEvent('run:end', data)])
    await this.release()
  }

  async release(): Promise<void> {
    await this.#writer.store.release(this.#writer)
  }

  /** Resumes a run that has ended. */
  async reopen(): Promise<void> {
    this.#writer = await takeOverRun(this.#writer.store, this.#writer.run_id, 'next owner')
    await this.#append([this.#writer.nextEvent('run:reopen', { key: null, limits: DEFAULT_LIMITS })])
  }

  async #append(events: readonly Event[]): Promise<void> {
    const outcome = await this.#writer.tryAppend(events)
    if (!outcome.ok) throw outcome.error
  }
}

/** A fold that makes one row of each event, so that a test sees which events a client has. */
export function rowPerEvent(): TimelineFold {
  const rows: TimelineMessage[] = []
  let taken = 0
  return {
    add: ({ seq, at, type }: Event) =>
      void rows.push({ id: String(seq), seq, at, from: null, to: null, type, text: '', ref: null }),
    snapshot: () => ({ messages: [...rows] }) as unknown as Timeline,
    takeChanges() {
      const messages = rows.slice(taken)
      taken = rows.length
      return { seq: rows.length, rows: messages.length === 0 ? {} : { messages } }
    },
    changesPanels: () => false,
  }
}

export const quickStreams: Partial<ServerStreamOptions> = { debounce_ms: 5, flush_ms: 1, panels_ms: 1, linger_ms: 0 }

export interface StreamServer {
  url: string
  troupe: Troupe
  streams: Streams
  close(): Promise<void>
}

/** A server with the streams only, without authentication. */
export async function startStreamServer(
  store: string | Store,
  { port = 0, options }: { port?: number; options?: Partial<ServerStreamOptions> } = {},
): Promise<StreamServer> {
  const troupe = await createTroupe({ store, project: 'default', config: false })
  const streams = createStreams({
    troupe,
    newFold: async () => ({ ...rowPerEvent(), changesPanels: ({ seq }) => seq % 3 === 0 }),
    options: { ...quickStreams, ...options },
  })
  const fetch = (request: Request) => {
    const [, run_id = '', kind] = new URL(request.url).pathname.split('/')
    const last = request.headers.get('last-event-id')
    const produce =
      kind === 'events'
        ? streams.events(run_id, Number(last ?? 0))
        : streams.timeline(run_id, last === null ? undefined : Number(last))
    return streams.respond(produce)
  }
  const server = createServer(getRequestListener(fetch))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    troupe,
    streams,
    async close() {
      streams.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await troupe.close()
    },
  }
}
