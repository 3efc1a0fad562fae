import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, request as httpRequest } from 'node:http'
import { createServer as createTlsServer, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Prefix, TestHandler } from '../../../test/support/handler-harness.ts'
import { ada, callerHeader, startTestHandler } from '../../../test/support/handler-harness.ts'
import { waitUntil } from '../../../test/support/http-harness.ts'
import { parseSse, takeSse } from '../../../test/support/sse-client.ts'
import { agent, createTestTroupe, functionModel, modelFromRules } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../index.ts'
import { createRequestLimits, DEFAULT_REQUEST_LIMITS } from './checks/request-limits.ts'
import type { InboxItem } from './contract.ts'
import type { HandlerOptions } from './create-handler.ts'
import { createHandler } from './create-handler.ts'
import { toNodeListener } from './node-listener.ts'
import type { OpenApiDocument } from './openapi/openapi-document.ts'

const task = { input: { agent: 'lead', instruction: 'go' } }
const write = { ...callerHeader(ada), 'x-troupe-request': '1' }
const start = ({ send }: TestHandler, headers: Record<string, string>, body: unknown = task) =>
  send('/api/patterns/task/runs', { method: 'POST', headers, body })
const runCount = async ({ troupe }: TestHandler) => (await troupe.runs().all()).length

describe('the options of a handler', () => {
  const authenticate = () => ada
  test.each([
    ['nothing', undefined, '`authenticate` is missing'],
    ['no authenticate', {}, '`authenticate` is missing'],
    ['a misspelt option', { authenticate, basepath: '/a' }, 'basePath'],
    ['a base path without a slash', { authenticate, basePath: 'agents' }, "'agents' is not a path"],
    ['a base path with a slash at its end', { authenticate, basePath: '/agents/' }, 'is not a path'],
    ['the path of the API', { authenticate, basePath: '/api' }, '/api is an address of the API'],
    ['a path of the API', { authenticate, basePath: '/api/runs' }, '/api/runs is an address of the API'],
    ['a place of the page', { authenticate, basePath: '/inbox' }, '/inbox is an address'],
    ['an origin with a path', { authenticate, origins: ['https://a.example/'] }, 'is not an origin'],
    ['all origins', { authenticate, origins: ['*'] }, "'*' is not an origin"],
    ['a rate that is no number', { authenticate, requests: { rate: Number.NaN } }, '`rate` is NaN'],
    ['an infinite burst', { authenticate, requests: { burst: Number.POSITIVE_INFINITY } }, '`burst` is Infinity'],
    ['no requests at once', { authenticate, requests: { concurrency: 0 } }, '`concurrency` is 0'],
    ['a text', { authenticate, requests: { streams: '5' } }, '`streams` is 5'],
    ['a misspelt limit of requests', { authenticate, requests: { rates: 5 } }, "no limit of `requests` 'rates'"],
    ['a negative budget', { authenticate, limits: { usd: -1 } }, 'invalid `limits`: usd'],
    ['a misspelt limit of runs', { authenticate, limits: { dollars: 1 } }, 'invalid `limits`'],
  ])('HS34 %s is refused when the handler is made', async (_name, options, message) => {
    const { troupe } = await createTestTroupe({})
    onTestFinished(() => troupe.close())
    expect(() => createHandler(troupe, options as HandlerOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(message) }),
    )
  })

  test('HS34 a limit that is undefined is the default', async () => {
    const undefinedLimits = { rate: undefined, burst: undefined, concurrency: undefined, streams: undefined }
    const limits = createRequestLimits(undefinedLimits as object, () => 0)
    for (let sent = 0; sent < DEFAULT_REQUEST_LIMITS.burst; sent += 1) limits.beginRequest('ada')()
    expect(() => limits.beginRequest('ada')).toThrow('more than 100 requests per second')
    const handler = await startTestHandler('kept', { limits: { usd: undefined } as object })
    expect((await start(handler, write)).status).toBe(200)
  })

  test('HS35 a response of another class is sent, and one response again and again', async () => {
    const login = new Response('Log in.', { status: 403 })
    const { body, ...foreign } = { status: 403, statusText: '', headers: new Headers(), body: 'Log in.' }
    const answers = { own: login, foreign: { ...foreign, clone: () => ({ ...foreign, body }) } as unknown as Response }
    const { send, errors } = await startTestHandler('kept', {
      authenticate: ({ headers }) => answers[headers.get('x-test') as keyof typeof answers],
    })
    for (const name of ['own', 'own', 'foreign', 'foreign'])
      expect(await send('/api/runs', { headers: { 'x-test': name } })).toMatchObject({
        status: 403,
        text: 'Log in.',
        headers: { 'cache-control': 'no-store' },
      })
    expect(errors).toEqual([])
  })

  test.each([
    ['throws', throwBroken],
    ['rejects', async () => throwBroken()],
  ])('HS35 an `onError` that %s changes no response', async (_how, onError) => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const { troupe } = await createTestTroupe({})
    onTestFinished(() => troupe.close())
    const authenticate = () => Promise.reject(new Error('no database'))
    const handler = createHandler(troupe, { authenticate, onError: onError as () => void })
    expect((await handler(new Request('http://127.0.0.1/api/runs'))).status).toBe(500)
    const [error, thrown] = logged.mock.calls[0] ?? []
    expect([error, thrown]).toMatchObject([{ message: 'no database' }, { message: 'broken log' }])
  })

  test('HS39 a `waitUntil` that throws is told to the operator, and the run has started', async () => {
    const waitUntil = () => {
      throw new Error('outside of a request')
    }
    const handler = await startTestHandler('kept', { waitUntil })
    expect((await start(handler, write)).status).toBe(200)
    expect(handler.errors).toMatchObject([{ message: 'outside of a request' }])
    expect(await runCount(handler)).toBe(1)
  })

  test('HS35 nobody is 401, another response is sent as it is, and what `authenticate` throws is told to the operator only', async () => {
    const answers: Record<string, () => unknown> = {
      nobody: () => null,
      login: () => Response.redirect('https://login.example/', 303),
      broken: () => Promise.reject(new Error('password of the database')),
      'a text': () => {
        throw 'password of the database'
      },
      nameless: () => ({ name: '', scopes: ['read'] }),
      'no scopes': () => ({ name: 'ada' }),
      'another scope': () => ({ name: 'ada', scopes: ['admin'] }),
    }
    const { send, errors } = await startTestHandler('kept', {
      authenticate: ({ headers }) => answers[headers.get('x-test') ?? '']?.() as never,
    })
    const ask = (name: string) => send('/api/runs', { headers: { 'x-test': name } })
    expect(await ask('nobody')).toMatchObject({ status: 401, json: { error: { code: 'unauthorized' } } })
    expect(await ask('login')).toMatchObject({
      status: 303,
      headers: { location: 'https://login.example/', 'cache-control': 'no-store' },
    })
    expect(errors).toEqual([])
    for (const name of ['broken', 'a text', 'nameless', 'no scopes', 'another scope']) {
      const response = await ask(name)
      expect([name, response.status, response.json]).toEqual([
        name,
        500,
        { error: { code: 'internal', message: 'the server could not do this' } },
      ])
    }
    expect(errors.map(({ message }) => message)).toEqual([
      'password of the database',
      'password of the database',
      '`authenticate` returned no caller',
      expect.any(String),
      '`authenticate` returned no caller',
    ])
  })
})

describe.each<Prefix>(['kept', 'removed'])('a handler whose prefix is %s', (prefix) => {
  test('HS37 API, page and links are below the base path', async () => {
    const handler = await startTestHandler(prefix, { page: true })
    const { call, send } = handler
    expect((await call('/api/runs')).json).toMatchObject({ runs: [] })
    for (const path of ['', '/', '/runs/r_1/plan', '/inbox']) {
      const page = await send(path)
      expect([path, page.status]).toEqual([path, 200])
      expect(page.text).toContain('<script type="module" src="/agents/app.js">')
      expect(page.text).toContain('<link rel="stylesheet" href="/agents/app.css" />')
    }
    expect((await send('/app.css')).headers['content-type']).toContain('text/css')
    const document = (await call('/api/openapi.json')).json as OpenApiDocument
    expect(document.servers).toEqual([{ url: '/agents' }])
    expect(document).toMatchObject({ security: [], components: { securitySchemes: {} } })
    expect(Object.keys(document.paths['/api/session'] ?? {})).toEqual(['get'])
    for (const path of ['/api/nothing', '/nothing.js']) expect((await call(path)).status).toBe(404)
  })

  test('HS37 without `page` there is only the API', async () => {
    const { call, send } = await startTestHandler(prefix)
    for (const path of ['', '/', '/runs', '/app.js', '/favicon.ico'])
      expect([path, (await send(path)).status]).toEqual([path, 404])
    expect((await call('/api/session')).json).toMatchObject({ principal: 'ada', project: 'default' })
  })

  test('HS3 HS10 a caller can do only what its scopes allow; nobody can do anything', async () => {
    const handler = await startTestHandler(prefix)
    for (const path of ['/api/runs', '/api/nothing', '/api', '/api/session', '/%61pi/runs'])
      expect([path, (await handler.send(path)).status]).toEqual([path, 401])
    const statuses = async (...scopes: ('read' | 'run' | 'approve')[]) => {
      const caller = { name: 'ada', scopes }
      const answer = { answer: 'yes', hash: 'x' }
      return [
        (await handler.call('/api/runs', undefined, caller)).status,
        (await handler.call('/api/patterns/task/runs', task, caller)).status,
        (await handler.call('/api/gates/g_1/answer', answer, caller)).status,
      ]
    }
    expect(await statuses('read')).toEqual([200, 403, 403])
    expect(await statuses('run')).toEqual([403, 200, 403])
    expect(await statuses('read', 'approve')).toEqual([200, 403, 404])
    expect((await start(handler, callerHeader(ada))).status).toBe(403)
    expect(await runCount(handler)).toBe(1)
  })

  test('HS6 HS7 pages of other sites are refused; a page of the same site needs the header for writes', async () => {
    const handler = await startTestHandler(prefix, { page: true })
    const own = `http://127.0.0.1:${handler.port}`
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', `${own}.evil.example`, 'file://'])
      expect([origin, (await start(handler, { ...write, origin })).status]).toEqual([origin, 403])
    for (const site of ['cross-site', 'same-site'])
      expect([site, (await start(handler, { ...write, 'sec-fetch-site': site })).status]).toEqual([site, 403])
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const refused = await handler.send('/api/runs', { method: 'OPTIONS', headers: preflight })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, undefined])
    expect((await start(handler, { ...callerHeader(ada), origin: own })).status).toBe(403)
    expect((await start(handler, { ...write, 'content-type': 'text/plain' })).status).toBe(415)
    expect(await runCount(handler)).toBe(0)
    expect((await start(handler, { ...write, origin: own })).status).toBe(200)
    // Behind a proxy that names another host, the browser itself still says where the page is from.
    const proxied = {
      origin: 'https://app.example',
      'sec-fetch-site': 'same-origin',
      host: `127.0.0.1:${handler.port}`,
    }
    expect((await start(handler, { ...write, ...proxied })).status).toBe(200)
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    expect((await handler.send('/runs/r_1', { headers: link })).status).toBe(200)
    expect((await handler.send('/api/runs', { headers: { ...write, ...link } })).status).toBe(403)
  })

  test('HS38 pages of the listed origins may call, and those of no other', async () => {
    const handler = await startTestHandler(prefix, { origins: ['https://app.example'] })
    const page = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' }
    const preflight = await handler.send('/api/patterns/task/runs', {
      method: 'OPTIONS',
      headers: {
        ...page,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-troupe-request',
      },
    })
    expect([preflight.status, preflight.headers]).toEqual([
      204,
      expect.objectContaining({
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': expect.stringContaining('x-troupe-request'),
      }),
    ])
    const started = await start(handler, { ...write, ...page })
    expect([started.status, started.headers['access-control-allow-origin']]).toEqual([200, 'https://app.example'])
    // The page has to see why it is refused.
    const refused = await start(handler, page)
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, 'https://app.example'])
    expect((await start(handler, { ...callerHeader(ada), ...page })).status).toBe(403)
    for (const origin of ['https://evil.example', 'http://app.example', 'https://app.example:444', 'null'])
      expect([origin, (await start(handler, { ...write, origin })).status]).toEqual([origin, 403])
    expect(await runCount(handler)).toBe(1)
  })

  test('HS8 HS9 HS14 bodies and the rate of a caller are limited, and every response has the security headers', async () => {
    const handler = await startTestHandler(prefix, { requests: { rate: 0.001, burst: 4 } })
    const big = { input: { agent: 'lead', instruction: 'x'.repeat(1024 * 1024) } }
    expect((await start(handler, write, big)).status).toBe(413)
    expect((await start(handler, { ...write, 'content-type': 'application/json' }, '{')).status).toBe(400)
    expect(
      (await start(handler, { ...write, 'content-type': 'application/json' }, `{"input":${'['.repeat(70)}`)).status,
    ).toBe(400)
    expect((await handler.call('/api/runs')).status).toBe(200)
    const limited = await handler.call('/api/runs')
    expect([limited.status, limited.headers['x-content-type-options']]).toEqual([429, 'nosniff'])
    expect((await handler.call('/api/runs', undefined, { ...ada, name: 'grace' })).status).toBe(200)
    expect((await handler.call('/api/runs', undefined, { ...ada, project: 'other' })).status).toBe(200)
    expect(await runCount(handler)).toBe(0)
  })

  test('HS12 HS36 a caller sees its project only, also in streams', async () => {
    const model = modelFromRules({ reply: { text: 'the merger closes on Friday' } })
    const handler = await startTestHandler(prefix, { troupe: { model } })
    const own = { ...ada, project: 'own' }
    const foreign = { ...ada, project: 'foreign' }
    const { run_id } = (await handler.call('/api/patterns/task/runs', task, own)).json as { run_id: string }
    await waitUntil(async () =>
      (await handler.call(`/api/runs/${run_id}/result`, undefined, own)).text.includes('merger'),
    )
    for (const caller of [foreign, ada])
      for (const path of ['', '/result', '/events', '/export', '/artifacts', '/panels', '/timeline'].map(
        (end) => `/api/runs/${run_id}${end}`,
      )) {
        const refused = await handler.call(path, undefined, caller)
        expect([path, refused.status]).toEqual([path, 404])
        expect(refused.text).toBe((await handler.call(path.replace(run_id, 'r_000000000000'), undefined, caller)).text)
      }
    expect((await handler.call(`/api/runs/${run_id}/cancel`, {}, foreign)).status).toBe(404)
    expect((await handler.call('/api/runs', undefined, foreign)).json).toMatchObject({ runs: [] })
    expect((await handler.call('/api/session', undefined, own)).json).toMatchObject({ project: 'own' })
    const stream = (caller: typeof own) =>
      handler.send(`/api/runs/${run_id}/events`, { headers: { ...callerHeader(caller), accept: 'text/event-stream' } })
    expect((await stream(foreign)).status).toBe(404)
    expect(await stream(own)).toMatchObject({ status: 200, text: expect.stringContaining('run:start') })
  })

  test('HS11 HS19 HS39 an answer is that of the caller, and the run goes on in this process', async () => {
    const model = modelFromRules(
      { when: { turn: 1 }, reply: { toolCalls: [{ name: 'ask_user', input: { question: 'Which?' } }] } },
      { reply: { text: 'Done.' } },
    )
    const waiting: Promise<unknown>[] = []
    const handler = await startTestHandler(prefix, {
      troupe: { model, agents: [agent('lead', { tools: ['ask_user'] })] },
      waitUntil: (work) => void waiting.push(work),
    })
    await handler.call('/api/patterns/task/runs', task)
    expect(waiting).toHaveLength(1)
    await waiting[0]
    const [question] = (await handler.call('/api/inbox')).json as InboxItem[]
    const answer = { answer: 'Blue.', hash: question?.hash }
    expect((await handler.call(`/api/gates/${question?.gate_id}/answer`, answer)).status).toBe(200)
    await waiting[1]
    const run_id = question?.run.run_id ?? ''
    expect(await handler.troupe.result(run_id)).toMatchObject({ status: 'completed' })
    const events = await handler.troupe.events(run_id).all()
    expect(events.find(({ type }) => type === 'gate:answer')?.data).toMatchObject({ by: 'ada' })
  })

  test('HS39 with `execute: false` the handler stores the run, and a worker on the same store executes it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-worker-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
    const store = join(folder, 'store')
    const handler = await startTestHandler(prefix, { troupe: { store, execute: false } })
    const { run_id } = (await handler.call('/api/patterns/task/runs', task)).json as { run_id: string }
    const stop = new AbortController()
    const worker = await createTroupe({
      ...{ config: false, embedder: false, store, agents: [agent('lead')] },
      model: modelFromRules({ reply: { text: 'By the worker.' } }),
    })
    onTestFinished(() => worker.close())
    const working = worker.work({ signal: stop.signal })
    const ended = await waitUntil(async () => {
      const result = await handler.troupe.result(run_id)
      return result.status === 'completed' && result
    })
    expect(ended.output).toMatchObject({ response: 'By the worker.' })
    stop.abort()
    await working
  })

  test('HS39 a client that leaves does not stop its run', async () => {
    const gate = Promise.withResolvers<void>()
    const model = functionModel(async () => {
      await gate.promise
      return { text: 'Done.' }
    })
    const handler = await startTestHandler(prefix, { troupe: { model } })
    const left = new AbortController()
    const response = await fetch(`http://127.0.0.1:${handler.port}/agents/api/ui-message-stream/task`, {
      method: 'POST',
      headers: { ...write, 'content-type': 'application/json' },
      body: JSON.stringify({
        messages: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
        input: { agent: 'lead' },
      }),
      signal: left.signal,
    })
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    left.abort()
    gate.resolve()
    const [run] = await handler.troupe.runs().all()
    const ended = await waitUntil(async () => {
      const result = await handler.troupe.result(run?.run_id ?? '')
      return result.status === 'completed' && result
    })
    expect(ended.output).toMatchObject({ response: 'Done.' })
  })
})

describe('streams of a handler', () => {
  const changes = (signal?: AbortSignal) =>
    new Request('http://127.0.0.1/api/changes', { headers: callerHeader(ada), ...(signal ? { signal } : undefined) })

  async function setUp() {
    const { troupe } = await createTestTroupe({ agents: [agent('lead')] })
    onTestFinished(() => troupe.close())
    const authenticate = ({ headers }: Request) => JSON.parse(headers.get('x-caller') ?? 'null')
    return { troupe, handler: createHandler(troupe, { authenticate, requests: { streams: 1 } }) }
  }

  test('HS40 a stream ends when its request is aborted, and when the troupe is closed', async () => {
    const { troupe, handler } = await setUp()
    const left = new AbortController()
    const first = parseSse((await handler(changes(left.signal))).body as ReadableStream<Uint8Array>)
    expect(await takeSse(first, 1)).toMatchObject([{ event: 'inbox' }])
    expect((await handler(changes())).status).toBe(429)
    left.abort()
    expect(await first.next()).toMatchObject({ done: true })
    const second = parseSse((await handler(changes())).body as ReadableStream<Uint8Array>)
    await takeSse(second, 1)
    await troupe.close()
    expect(await second.next()).toMatchObject({ done: true })
  })

  test('HS32 HT26 where the response of Node is not at hand, nothing is compressed: the server may do it, too', async () => {
    const { handler } = await setUp()
    for (const path of ['/api/openapi.json', '/api/changes']) {
      const headers = { ...callerHeader(ada), 'accept-encoding': 'gzip' }
      const response = await handler(new Request(`http://127.0.0.1${path}`, { headers }))
      expect([path, response.status, response.headers.get('content-encoding')]).toEqual([path, 200, null])
    }
  })

  test('HS40 what other servers pass beside the request is ignored', async () => {
    const { handler } = await setUp()
    const call = handler as (request: Request, more?: unknown) => Promise<Response>
    for (const more of [undefined, null, 1, { params: Promise.resolve({}) }, { waitUntil() {} }])
      expect((await call(new Request('http://127.0.0.1/api/runs', { headers: callerHeader(ada) }), more)).status).toBe(
        200,
      )
  })
})

test('HS6 behind a proxy that ends TLS the pages of its address may call; control: another address', async () => {
  const handler = await startTestHandler('kept')
  const read = (name: string) =>
    readFile(fileURLToPath(new URL(`../../../test/fixtures/tls/${name}.pem`, import.meta.url)), 'utf8')
  const [cert, key] = [await read('cert'), await read('key')]
  const proxy = createTlsServer({ cert, key }, ({ method, url, headers }, response) => {
    const forwarded = httpRequest({ host: '127.0.0.1', port: handler.port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forwarded.end(JSON.stringify(task))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  const { port } = proxy.address() as AddressInfo
  const statusFor = (origin: string) =>
    new Promise((resolve, reject) => {
      const headers = {
        ...write,
        origin,
        'content-type': 'application/json',
        'content-length': JSON.stringify(task).length,
      }
      const sent = httpsRequest(
        {
          host: '127.0.0.1',
          port,
          path: '/agents/api/patterns/task/runs',
          method: 'POST',
          ca: cert,
          headers,
          agent: false,
        },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      sent.on('error', reject)
      sent.end(JSON.stringify(task))
    })
  expect(await statusFor(`https://127.0.0.1:${port}`)).toBe(200)
  expect(await statusFor(`https://127.0.0.1:${handler.port}`)).toBe(403)
})

test.each<[string, (body: Buffer) => unknown]>([
  ['parsed', (body) => JSON.parse(body.toString())],
  ['as text', (body) => body.toString()],
  ['as bytes', (body) => body],
])('HS41 a body that a framework has read %s is used', async (_title, read) => {
  const handler = await startTestHandler('kept')
  const listener = toNodeListener(createHandler(handler.troupe, { authenticate: () => ada }))
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk as Uint8Array)
    listener(Object.assign(request, { body: read(Buffer.concat(chunks)) }), response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/api/patterns/task/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-troupe-request': '1' },
    body: JSON.stringify(task),
  })
  expect([response.status, await response.json()]).toEqual([200, { run_id: expect.any(String) }])
})

function throwBroken(): never {
  throw new Error('broken log')
}
