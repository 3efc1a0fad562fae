import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../src/store/sqlite.ts'
import { createJournal } from '../test/support/stream-harness.ts'

/* Many clients on the events of one run: a server process, real connections, and a journal that another process writes. */

export interface StreamLoad {
  clients: number
  /** Clients that do not read for so long that the server disconnects them. */
  slow: number
  events: number
  /** Bytes of text in an event. */
  size: number
  stall_ms: number
}

export interface StreamLoadReport {
  /** Clients that got every event once and in order. */
  complete: number
  /** Slow clients that were disconnected and came back. */
  recovered: number
  /** Other clients that were disconnected and came back: this process was too busy to read. */
  others: number
  seconds: number
  megabytes: number
  /** Memory of the server before the clients, and at most, in MB. */
  rss: { before: number; peak: number }
  heap: { before: number; peak: number }
}

export async function runStreamLoad(load: StreamLoad): Promise<StreamLoadReport> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-stream-load-'))
  const path = join(folder, 'troupe.db')
  const store = await openSqlite(path)
  const journal = await createJournal(store, 'r1')
  const append = async (until: number) => {
    while (journal.head < until) await journal.append(Math.min(50, until - journal.head), load.size)
  }
  // A fifth is stored before the clients connect, the rest is written while they watch.
  await append(Math.floor(load.events / 5))
  const server = await startServer(path, load.stall_ms)
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
  const clients = Array.from(
    { length: load.clients },
    (_, index) =>
      new LoadClient({
        port: server.port,
        agent,
        last: load.events,
        pause_ms: index < load.slow ? load.stall_ms * 2.5 : 0,
      }),
  )
  const start = performance.now()
  const done = Promise.all(clients.map((client) => client.follow()))
  await Promise.all(clients.map(({ connected }) => connected))
  await append(load.events)
  await done
  const seconds = (performance.now() - start) / 1000
  await server.stop()
  agent.destroy()
  await store.close()
  await rm(folder, { recursive: true, force: true })
  return {
    complete: clients.filter((client) => client.seq === load.events && client.isInOrder).length,
    recovered: clients.slice(0, load.slow).filter(({ wasDropped }) => wasDropped).length,
    others: clients.slice(load.slow).filter(({ wasDropped }) => wasDropped).length,
    seconds,
    megabytes: clients.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6,
    rss: server.rss,
    heap: server.heap,
  }
}

interface ServerProcess {
  port: number
  rss: { before: number; peak: number }
  heap: { before: number; peak: number }
  stop(): Promise<void>
}

async function startServer(store: string, stall_ms: number): Promise<ServerProcess> {
  const file = fileURLToPath(new URL('streams-server.ts', import.meta.url))
  const child: ChildProcess = fork(file, [store, String(stall_ms)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const server: ServerProcess = {
    port: 0,
    rss: { before: 0, peak: 0 },
    heap: { before: 0, peak: 0 },
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await exited
    },
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    child.on('message', (message: { port?: number; memory?: NodeJS.MemoryUsage }) => {
      if (message.port !== undefined) server.port = message.port
      if (!message.memory) return
      note(server.rss, message.memory.rss)
      note(server.heap, message.memory.heapUsed + message.memory.external)
      resolve(server)
    })
  })
}

function note(figure: { before: number; peak: number }, bytes: number): void {
  const megabytes = bytes / 1e6
  if (figure.before === 0) figure.before = megabytes
  figure.peak = Math.max(figure.peak, megabytes)
}

interface LoadClientOptions {
  port: number
  agent: Agent
  /** The seq of the last event. */
  last: number
  /** Time in which it does not read. */
  pause_ms: number
}

class LoadClient {
  seq = 0
  bytes = 0
  isInOrder = true
  wasDropped = false
  readonly #options: LoadClientOptions
  readonly #connected = Promise.withResolvers<void>()
  readonly connected = this.#connected.promise

  constructor(options: LoadClientOptions) {
    this.#options = options
  }

  /** Reads, and connects again with the last id, until it has all events. */
  async follow(): Promise<void> {
    while (this.seq < this.#options.last) {
      const response = await this.#connect()
      if (response?.statusCode !== 200) {
        response?.resume()
        await setTimeout(50)
        continue
      }
      this.#connected.resolve()
      // A connection that is not read tells nothing, not even that the other side has closed it.
      if (this.#options.pause_ms > 0 && !this.wasDropped) await setTimeout(this.#options.pause_ms)
      await this.#read(response)
      if (this.seq < this.#options.last) this.wasDropped = true
    }
  }

  #connect(): Promise<IncomingMessage | undefined> {
    const { port, agent } = this.#options
    const headers = { accept: 'text/event-stream', 'last-event-id': this.seq }
    return new Promise((resolve) => {
      get({ host: '127.0.0.1', port, path: '/api/runs/r1/events', agent, headers }, resolve).once('error', () =>
        resolve(undefined),
      )
    })
  }

  #read(response: IncomingMessage): Promise<void> {
    let rest = ''
    return new Promise((resolve) => {
      const end = () => {
        response.destroy()
        resolve()
      }
      response.setEncoding('latin1')
      response.on('data', (chunk: string) => {
        this.bytes += chunk.length
        const text = rest + chunk
        const complete = text.lastIndexOf('\n\n') + 2
        rest = complete < 2 ? text : text.slice(complete)
        if (complete >= 2) this.#readIds(text, complete)
        if (this.seq >= this.#options.last) end()
      })
      response.once('close', resolve)
      response.once('error', end)
    })
  }

  #readIds(text: string, to: number): void {
    for (let at = text.indexOf('id: '); at >= 0 && at < to; ) {
      const id = Number.parseInt(text.slice(at + 4, at + 16), 10)
      if (id !== this.seq + 1) this.isInOrder = false
      this.seq = id
      const next = text.indexOf('\n\n', at)
      at = next < 0 ? -1 : text.indexOf('id: ', next)
    }
  }
}
