import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** The only valid API key; any other gets status 401. */
export const MOCK_API_KEY = 'test-key-of-the-mock'

export interface Fixture {
  match: { userMessage?: string; hasToolResult?: boolean }
  response: object
  [setting: string]: unknown
}

/** A mock of the provider APIs, as a process on loopback. */
export interface MockProvider {
  url: string
  /** Resets the mock and sets its responses. */
  setFixtures(fixtures: readonly Fixture[]): Promise<void>
  /** Requests since the last `setFixtures`, in the format of the mock. */
  requests(): Promise<{ path: string; response: { status: number } }[]>
  stop(): Promise<void>
}

export async function startMockProvider(): Promise<MockProvider> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mock-'))
  const fixtures = join(folder, 'fixtures.json')
  writeFileSync(fixtures, JSON.stringify({ fixtures: [{ match: { userMessage: '-' }, response: { content: '-' } }] }))
  const cli = join(dirname(createRequire(import.meta.url).resolve('@copilotkit/aimock')), 'cli.js')
  const child = spawn(process.execPath, [cli, '--port', '0', '--fixtures', fixtures, '--chunk-size', '8'], {
    env: { AIMOCK_API_KEYS: MOCK_API_KEY, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // An aborted test run must not leave a zombie process.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const url = await waitForUrl(child, child.stdout)
  const control = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}/__aimock${path}`, {
      ...init,
      headers: { authorization: `Bearer ${MOCK_API_KEY}` },
    })
    if (!response.ok) throw new Error(`the mock rejected ${path}: ${await response.text()}`)
    return response.json()
  }
  return {
    url,
    async setFixtures(responses) {
      await control('/reset', { method: 'POST' })
      await control('/fixtures', { method: 'POST', body: JSON.stringify({ fixtures: responses }) })
    },
    requests: async () => (await control('/journal')) as { path: string; response: { status: number } }[],
    async stop() {
      process.off('exit', kill)
      if (child.exitCode === null) {
        kill()
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function waitForUrl(child: ChildProcess, output: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the mock exited with ${code}`)))
    createInterface(output).on('line', (line) => {
      const url = /listening on (http:\S+)/.exec(line)?.[1]
      if (url) resolve(url)
    })
  })
}

/** Starts an HTTP server on loopback with a handler. */
export async function startServer(
  handle: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<{ url: string; close(): Promise<void> }> {
  const server: Server = createServer((incoming, response) => {
    let body = ''
    incoming.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    incoming.on('end', () => handle(incoming, response, body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Forwards requests to the mock and records their bodies: the mock's own log omits images and options. */
export async function startRecordingProxy(
  mock: MockProvider,
): Promise<{ url: string; bodies: unknown[]; close(): Promise<void> }> {
  const bodies: unknown[] = []
  const server = await startServer((incoming, response, body) => {
    bodies.push(JSON.parse(body))
    const { authorization, 'x-api-key': key, 'x-goog-api-key': google } = incoming.headers
    const headers = Object.fromEntries(
      Object.entries({ authorization, 'x-api-key': key, 'x-goog-api-key': google, 'content-type': 'application/json' })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, String(value)]),
    )
    const forwarded = request(`${mock.url}${incoming.url}`, { method: 'POST', headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers)
      reply.pipe(response)
    })
    forwarded.end(body)
  })
  return { ...server, bodies }
}
