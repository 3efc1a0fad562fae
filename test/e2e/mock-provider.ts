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

/** The key that the double takes; any other is refused with 401. */
export const MOCK_API_KEY = 'test-key-of-the-double'

export interface Fixture {
  match: { userMessage?: string; hasToolResult?: boolean }
  response: object
  [setting: string]: unknown
}

/** A wire-level double of the providers, as a process of its own on loopback. */
export interface MockProvider {
  url: string
  /** Forgets everything and plays these from now on. */
  setFixtures(fixtures: readonly Fixture[]): Promise<void>
  /** What it was asked since the last `play`, in the double's own words. */
  requests(): Promise<{ path: string; response: { status: number } }[]>
  stop(): Promise<void>
}

export async function startMockProvider(): Promise<MockProvider> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-double-'))
  const fixtures = join(folder, 'fixtures.json')
  writeFileSync(fixtures, JSON.stringify({ fixtures: [{ match: { userMessage: '-' }, response: { content: '-' } }] }))
  const cli = join(dirname(createRequire(import.meta.url).resolve('@copilotkit/aimock')), 'cli.js')
  const child = spawn(process.execPath, [cli, '--port', '0', '--fixtures', fixtures, '--chunk-size', '8'], {
    env: { AIMOCK_API_KEYS: MOCK_API_KEY, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // A test run that is stopped half-way would leave it behind.
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  const url = await waitForUrl(child, child.stdout)
  const control = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}/__aimock${path}`, {
      ...init,
      headers: { authorization: `Bearer ${MOCK_API_KEY}` },
    })
    if (!response.ok) throw new Error(`the double refused ${path}: ${await response.text()}`)
    return response.json()
  }
  return {
    url,
    async setFixtures(played) {
      await control('/reset', { method: 'POST' })
      await control('/fixtures', { method: 'POST', body: JSON.stringify({ fixtures: played }) })
    },
    requests: async () => (await control('/journal')) as { path: string; response: { status: number } }[],
    async stop() {
      process.off('exit', end)
      if (child.exitCode === null) {
        end()
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function waitForUrl(child: ChildProcess, output: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the double ended with ${code}`)))
    createInterface(output).on('line', (line) => {
      const url = /listening on (http:\S+)/.exec(line)?.[1]
      if (url) resolve(url)
    })
  })
}

/** A server of a few lines on loopback: what it answers is up to the test. */
export async function startServer(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<{ url: string; close(): Promise<void> }> {
  const server: Server = createServer((asked, response) => {
    let body = ''
    asked.on('data', (part: Buffer) => {
      body += part.toString()
    })
    asked.on('end', () => answer(asked, response, body))
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

/** Stands between a provider package and the double: the double's own journal leaves images and options out. */
export async function startRecordingProxy(
  double: MockProvider,
): Promise<{ url: string; bodies: unknown[]; close(): Promise<void> }> {
  const bodies: unknown[] = []
  const server = await startServer((asked, response, body) => {
    bodies.push(JSON.parse(body))
    const { authorization, 'x-api-key': key, 'x-goog-api-key': google } = asked.headers
    const headers = Object.fromEntries(
      Object.entries({ authorization, 'x-api-key': key, 'x-goog-api-key': google, 'content-type': 'application/json' })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, String(value)]),
    )
    const passed = request(`${double.url}${asked.url}`, { method: 'POST', headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    passed.end(body)
  })
  return { ...server, bodies }
}
