import { mkdtemp, rm } from 'node:fs/promises'
import type { OutgoingHttpHeaders } from 'node:http'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { openCredentials } from '../../src/surfaces/http/auth/credentials.ts'
import type { LimitOptions } from '../../src/surfaces/http/checks/request-limits.ts'
import { createRequestLimits } from '../../src/surfaces/http/checks/request-limits.ts'
import type { Scope } from '../../src/surfaces/http/contract.ts'
import type { HttpServer, ListenOptions } from '../../src/surfaces/http/http-server.ts'
import { startHttpServer } from '../../src/surfaces/http/http-server.ts'
import { errorBody } from '../../src/surfaces/http/openapi/response-schemas.ts'
import { apiRoutes } from '../../src/surfaces/http/routes/api-routes.ts'
import { agent, modelFromRules } from './test-troupe.ts'
import { timeLimit } from './time-limit.ts'

/* A real HTTP server in this process, on a free port of 127.0.0.1, with a real SQLite store in a folder of its own. */

export interface TestServerOptions {
  /** Options of the troupe. Default: the agent `lead`, and a model that answers `Done.`. */
  troupe?: TroupeOptions
  /** An existing folder with the store and the credentials, for a second server. */
  folder?: string
  scopes?: readonly Scope[]
  limits?: Partial<LimitOptions>
  executes?: boolean
  listen?: Partial<ListenOptions>
  /** A file of the page; `undefined` for none. */
  page?: (name: string) => string | undefined
}

export interface TestRequest {
  method?: string
  headers?: OutgoingHttpHeaders
  /** Sent as JSON, unless it is a string or bytes. */
  body?: unknown
}

export interface TestResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  /** The parsed body. */
  json: never
}

export interface TestServer {
  troupe: Troupe
  server: HttpServer
  folder: string
  token: string
  /** Errors that only the operator sees. */
  errors: Error[]
  issueToken(scopes: readonly Scope[], principal?: string): Promise<string>
  /** A request of a program with the token; writes have the header that they need. */
  call(path: string, body?: unknown): Promise<TestResponse>
  /** Exactly this request. */
  send(path: string, request?: TestRequest): Promise<TestResponse>
  stop(): Promise<void>
}

export const PAGE = { 'index.html': '<!doctype html><title>Page</title>', 'app.js': 'start()', 'app.css': 'a{}' }

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'troupe-http-')))
  const troupe = await createTroupe({
    config: false,
    store: join(folder, 'store'),
    agents: [agent('lead')],
    model: modelFromRules({ reply: { text: 'Done.' } }),
    embedder: false,
    ...options.troupe,
  })
  const credentials = await openCredentials(join(folder, 'credentials'))
  const errors: Error[] = []
  const executes = options.executes ?? true
  const readPage = options.page ?? ((name) => new Map(Object.entries(PAGE)).get(name))
  const server = await startHttpServer(
    {
      ...{ troupe, credentials, executes, runLimits: {} },
      limits: createRequestLimits({ rate: 100_000, burst: 100_000, ...options.limits }),
      readPageFile: async (name) => {
        const content = readPage(name)
        return content === undefined ? undefined : { type: 'text/plain', content }
      },
      onError: (error) => void errors.push(error),
    },
    { host: '127.0.0.1', port: 0, ...options.listen },
  )
  const issueToken = (scopes: readonly Scope[], principal = 'ada') =>
    credentials.issue({ kind: 'token', principal, scopes })
  const token = await issueToken(options.scopes ?? ['read', 'run', 'approve'])
  const working = new AbortController()
  const work = executes ? troupe.work({ signal: working.signal, onError: () => {} }) : Promise.resolve()
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    working.abort()
    await server.close()
    await troupe.close()
    await work
  }
  onTestFinished(async () => {
    await stop()
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const target = options.listen?.socket === undefined ? { port: server.port } : { socketPath: options.listen.socket }
  const send = async (path: string, sent: TestRequest = {}) => {
    const response = await sendRequest({ ...target, path }, sent)
    requireDocumentedResponse(`${sent.method ?? 'GET'} ${path}`, response)
    return response
  }
  return {
    ...{ troupe, server, folder, token, errors, issueToken, send, stop },
    call(path, body) {
      const authorization = `Bearer ${token}`
      if (body === undefined) return send(path, { headers: { authorization } })
      return send(path, { method: 'POST', headers: { authorization, 'x-troupe-request': '1' }, body })
    },
  }
}

const documentedRoutes = apiRoutes.map(({ method, path, response }) => ({
  pattern: new RegExp(`^${method} ${path.replaceAll(/:\\w+/g, '[^/]+')}(\\?|$)`),
  response,
}))

/** Every JSON response of a test is one that the OpenAPI document describes. */
function requireDocumentedResponse(request: string, { status, headers, text }: TestResponse): void {
  if (text === '') return
  if (!request.includes(' /api/') || !headers['content-type']?.includes('application/json')) return
  const route = documentedRoutes.find(({ pattern }) => pattern.test(request))
  const schema = status >= 400 ? errorBody : route?.response.schema
  const problem = schema?.safeParse(JSON.parse(text)).error
  if (problem) throw new Error(`${request}: ${status} is not what the OpenAPI document says: ${problem.message}`)
}

type Target = { port?: number | undefined; socketPath?: string; path: string }

export function sendRequest(
  target: Target,
  { method = 'GET', headers = {}, body }: TestRequest = {},
): Promise<TestResponse> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const content = body === undefined || isRaw ? body : JSON.stringify(body)
  const type = body === undefined || isRaw ? undefined : { 'content-type': 'application/json' }
  const length = content === undefined ? undefined : { 'content-length': Buffer.byteLength(content) }
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        agent: false,
        method,
        ...target,
        headers: withoutUndefined({ ...type, ...length, ...headers }),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => void chunks.push(chunk))
        response.on('error', reject)
        // A stream has no end: its first part is enough.
        if (response.headers['content-type']?.startsWith('text/event-stream'))
          response.once('data', () => response.emit('end') && sent.destroy())
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            get json() {
              return JSON.parse(text) as never
            },
          })
        })
      },
    )
    sent.on('error', reject)
    sent.end(content)
  })
}

function withoutUndefined(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
}

/** Polls until the value is there: for what another process, or the worker of this one, does. */
export async function waitUntil<T>(read: () => Promise<T | undefined | false>, what = 'condition'): Promise<T> {
  for (const end = Date.now() + timeLimit(60_000); Date.now() < end; ) {
    const value = await read()
    if (value) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`timeout: ${what}`)
}
