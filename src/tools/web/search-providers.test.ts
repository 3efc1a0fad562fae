import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { braveSearch, searxngSearch, selectSearchProvider, tavilySearch } from './search-providers.ts'
import type { SearchProvider } from './web-search-tool.ts'

const KEY = 'the-key-of-the-operator'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface ReceivedRequest {
  request: IncomingMessage
  body: string
}

type Responder = (received: ReceivedRequest, response: ServerResponse) => void

/** A fake search service on this machine. */
interface FakeService {
  variable: string
  createProvider(baseUrl: string): SearchProvider
  /** The query of a request that conforms to the service's documentation; `undefined` for any other request. */
  query(received: ReceivedRequest): string | undefined
  results: object
}

const localAddresses = { resolve: async () => [], isAllowed: (address: string) => address === '127.0.0.1' }
const expectedHits = [
  { title: 'One & two', url: 'https://a.test/1', snippet: "It's the first" },
  { title: 'Three', url: 'https://b.test/2', snippet: '' },
]
const contentResults = {
  query: 'x',
  number_of_results: 0,
  results: [
    { title: 'One & two', url: 'https://a.test/1', content: "It's the first", score: 0.9 },
    { title: 'Three', url: 'https://b.test/2', content: null, engine: 'e' },
  ],
}

const SERVICES: Record<string, FakeService> = {
  brave: {
    variable: 'BRAVE_API_KEY',
    createProvider: (baseUrl) => braveSearch({ key: KEY, baseUrl, addresses: localAddresses }),
    query({ request: { method, url = '', headers } }) {
      const { pathname, searchParams } = new URL(url, 'http://x')
      if (method !== 'GET' || pathname !== '/res/v1/web/search' || headers['x-subscription-token'] !== KEY) return
      return searchParams.get('count') === '10' ? (searchParams.get('q') ?? undefined) : undefined
    },
    results: {
      type: 'search',
      web: {
        type: 'search',
        results: [
          { title: 'One &amp; two', url: 'https://a.test/1', description: 'It&#x27;s the first', age: '1 day' },
          { title: 'Three', url: 'https://b.test/2' },
        ],
      },
    },
  },
  tavily: {
    variable: 'TAVILY_API_KEY',
    createProvider: (baseUrl) => tavilySearch({ key: KEY, baseUrl, addresses: localAddresses }),
    query({ request: { method, url, headers }, body }) {
      if (method !== 'POST' || url !== '/search' || headers.authorization !== `Bearer ${KEY}`) return
      if (headers['content-type'] !== 'application/json') return
      const { query, max_results } = JSON.parse(body) as { query: string; max_results: number }
      return max_results === 10 ? query : undefined
    },
    results: { ...contentResults, answer: null, response_time: 1.2 },
  },
  searxng: {
    variable: 'SEARXNG_URL',
    createProvider: (baseUrl) => searxngSearch(`${baseUrl}/below`),
    query({ request: { method, url = '' } }) {
      const { pathname, searchParams } = new URL(url, 'http://x')
      if (method !== 'GET' || pathname !== '/below/search' || searchParams.get('format') !== 'json') return
      return searchParams.get('q') ?? undefined
    },
    results: contentResults,
  },
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of request) body += String(part)
  return body
}

/** The `WebSearch` tool with a fake service. */
async function createSearchFixture(name: string, respond: Responder, hosts: readonly string[] = ['*']) {
  const service = SERVICES[name] as FakeService
  const baseUrl = await serve(async (request, response) =>
    respond({ request, body: await readBody(request) }, response),
  )
  const fixture = createToolWorkspace({ sandbox: 'none', network: { hosts, search: service.createProvider(baseUrl) } })
  const search = (more: { signal?: AbortSignal } = {}) => fixture.call('WebSearch', { query: 'a b & "c" ü' }, more)
  return { search, [Symbol.dispose]: () => fixture[Symbol.dispose]() }
}

const json = (response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

describe.each(Object.keys(SERVICES))('%s', (name) => {
  test('TO66 a search request and its response follow the API of the service', async () => {
    const queries: (string | undefined)[] = []
    using fixture = await createSearchFixture(name, (received, response) => {
      queries.push((SERVICES[name] as FakeService).query(received))
      const compressed = gzipSync(JSON.stringify((SERVICES[name] as FakeService).results))
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(compressed)
    })
    expect(await fixture.search()).toMatchObject({ success: true, output: { provider: name, results: expectedHits } })
    expect(queries).toEqual(['a b & "c" ü'])
  })

  test('TO64 a rejected key, a rate limit, a used-up quota and a failure say what to do, without the key', async () => {
    const errorText = async (status: number, body: unknown, headers?: Record<string, string>) => {
      using fixture = await createSearchFixture(name, (_received, response) => json(response, status, body, headers))
      const result = await fixture.search()
      expect(result).toMatchObject({ success: false, code: 'tool_failed' })
      expect(result.text).not.toContain(KEY)
      expect(result.text).toContain(`status ${status}`)
      return result.text
    }
    const echo = { detail: `bad key ${KEY}` }
    const { variable } = SERVICES[name] as FakeService
    if (name === 'searxng') expect(await errorText(403, echo)).toContain('settings.yml')
    else {
      expect(await errorText(401, echo)).toContain(`check ${variable}`)
      expect(await errorText(403, echo)).toContain(`check ${variable}`)
    }
    expect(await errorText(429, {}, { 'retry-after': '7' })).toContain('again in 7 seconds')
    expect(await errorText(429, {}, { 'retry-after': 'tomorrow' })).toContain('again in a while')
    expect(await errorText(432, {})).toContain('used up')
    expect(await errorText(503, {})).toContain('again later')
    expect(await errorText(400, {})).toContain('shorten `query`')
  })

  test('TO64 an unexpected response is reported as such', async () => {
    for (const body of [
      '',
      '<html>hello</html>',
      '[1',
      '7',
      '{"web": 3, "results": "none"}',
      '{"results":[{"url":1}]}',
    ]) {
      using fixture = await createSearchFixture(name, (_received, response) => void response.writeHead(200).end(body))
      expect.soft((await fixture.search()).text, body).toContain('unexpected response')
    }
  })

  test('TO64 an abort ends a pending request, and an unreachable service is reported', async () => {
    const abort = new AbortController()
    using slow = await createSearchFixture(name, () => abort.abort(new Error('aborted by the test')))
    expect((await slow.search({ signal: abort.signal })).text).toContain('aborted by the test')
    using broken = await createSearchFixture(name, ({ request }) => void request.socket.destroy())
    const result = await broken.search()
    expect(result).toMatchObject({ success: false, code: 'tool_failed' })
    expect(result.text).toContain('is not reachable')
  })

  test('TO65 redirects to another origin are not followed, and a host that is not allowed is not queried', async () => {
    const visits: string[] = []
    const otherOrigin = await serve((request, response) => {
      visits.push(JSON.stringify(request.headers))
      json(response, 200, (SERVICES[name] as FakeService).results)
    })
    for (const status of [301, 302, 307, 308]) {
      using fixture = await createSearchFixture(name, (_received, response) => {
        response.writeHead(status, { location: `${otherOrigin}/` }).end()
      })
      expect(await fixture.search()).toMatchObject({ success: false, code: 'denied' })
    }
    using other = await createSearchFixture(name, (_received, response) => json(response, 200, {}), ['example.org'])
    const result = await other.search()
    expect(result).toMatchObject({ success: false, code: 'denied' })
    expect(result.text).toContain('--allow-host 127.0.0.1')
    expect(visits).toEqual([])
  })
})

test('TO66 a redirect within the service is followed with the same request', async () => {
  using fixture = await createSearchFixture('tavily', (received, response) => {
    if (received.request.url === '/search') response.writeHead(308, { location: '/v2' }).end()
    else
      json(response, 200, {
        results: [{ url: 'https://a.test', title: received.request.method, content: received.body }],
      })
  })
  const { output } = await fixture.search()
  expect(output).toMatchObject({ results: [{ title: 'POST', snippet: expect.stringContaining('max_results') }] })
})

test('TO64 the error code of Brave for an invalid key is recognised', async () => {
  const error = { type: 'ErrorResponse', error: { code: 'SUBSCRIPTION_TOKEN_INVALID', status: 422 } }
  using fixture = await createSearchFixture('brave', (_received, response) => json(response, 422, error))
  expect((await fixture.search()).text).toContain('check BRAVE_API_KEY')
})

test('TO65 Brave and Tavily need a public address; only SEARXNG_URL may be private', async () => {
  const baseUrl = await serve((_request, response) => json(response, 200, contentResults))
  for (const search of [braveSearch({ key: KEY, baseUrl }), tavilySearch({ key: KEY, baseUrl })]) {
    using fixture = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'], search } })
    const result = await fixture.call('WebSearch', { query: 'anything' })
    expect(result).toMatchObject({ success: false, code: 'denied' })
    expect(result.text).toContain('has a non-public address')
  }
  using own = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'], search: searxngSearch(baseUrl) } })
  expect(await own.call('WebSearch', { query: 'anything' })).toMatchObject({ success: true })
})

test('TO66 the environment selects SearXNG, then Brave, then Tavily; an empty variable counts as unset', () => {
  const all = { SEARXNG_URL: 'http://localhost:8080', BRAVE_API_KEY: 'b', TAVILY_API_KEY: 't' }
  expect(selectSearchProvider(all)).toMatchObject({ name: 'searxng', host: 'localhost' })
  expect(selectSearchProvider({ ...all, SEARXNG_URL: '' })).toMatchObject({
    name: 'brave',
    host: 'api.search.brave.com',
  })
  expect(selectSearchProvider({ TAVILY_API_KEY: 't', BRAVE_API_KEY: '' })).toMatchObject({
    name: 'tavily',
    host: 'api.tavily.com',
  })
  expect(selectSearchProvider({})).toBeUndefined()
  for (const bad of ['localhost:8080', 'nonsense', 'file:///etc', 'http://user:word@host']) {
    expect(() => selectSearchProvider({ SEARXNG_URL: bad }), bad).toThrow(
      'SEARXNG_URL is not a valid http or https URL',
    )
  }
})
