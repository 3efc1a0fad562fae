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

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What a double was asked, with its body. */
interface Asked {
  request: IncomingMessage
  body: string
}

type Reply = (asked: Asked, response: ServerResponse) => void

/** A service of one's own on this machine, in place of the real one. */
interface Double {
  variable: string
  /** Asks for a search with ten results at the most, through the tool. */
  open(at: string): SearchProvider
  /** Whether a request is what the service's documentation asks for, and for what it searches. */
  query(asked: Asked): string | undefined
  results: object
}

const near = { resolve: async () => [], isAllowed: (address: string) => address === '127.0.0.1' }
const found = [
  { title: 'One & two', url: 'https://a.test/1', snippet: "It's the first" },
  { title: 'Three', url: 'https://b.test/2', snippet: '' },
]
const plain = {
  query: 'x',
  number_of_results: 0,
  results: [
    { title: 'One & two', url: 'https://a.test/1', content: "It's the first", score: 0.9 },
    { title: 'Three', url: 'https://b.test/2', content: null, engine: 'e' },
  ],
}

const DOUBLES: Record<string, Double> = {
  brave: {
    variable: 'BRAVE_API_KEY',
    open: (baseUrl) => braveSearch({ key: KEY, baseUrl, addresses: near }),
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
    open: (baseUrl) => tavilySearch({ key: KEY, baseUrl, addresses: near }),
    query({ request: { method, url, headers }, body }) {
      if (method !== 'POST' || url !== '/search' || headers.authorization !== `Bearer ${KEY}`) return
      if (headers['content-type'] !== 'application/json') return
      const { query, max_results } = JSON.parse(body) as { query: string; max_results: number }
      return max_results === 10 ? query : undefined
    },
    results: { ...plain, answer: null, response_time: 1.2 },
  },
  searxng: {
    variable: 'SEARXNG_URL',
    open: (at) => searxngSearch(`${at}/below`),
    query({ request: { method, url = '' } }) {
      const { pathname, searchParams } = new URL(url, 'http://x')
      if (method !== 'GET' || pathname !== '/below/search' || searchParams.get('format') !== 'json') return
      return searchParams.get('q') ?? undefined
    },
    results: plain,
  },
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of request) body += String(part)
  return body
}

/** The tool, with a double of the service that answers like this. */
async function searching(name: string, reply: Reply, hosts: readonly string[] = ['*']) {
  const double = DOUBLES[name] as Double
  const at = await serve(async (request, response) => reply({ request, body: await bodyOf(request) }, response))
  const bench = createToolWorkspace({ sandbox: 'none', network: { hosts, search: double.open(at) } })
  const search = (more: { signal?: AbortSignal } = {}) => bench.call('WebSearch', { query: 'a b & "c" ü' }, more)
  return { double, search, [Symbol.dispose]: () => bench[Symbol.dispose]() }
}

const json = (response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

describe.each(Object.keys(DOUBLES))('%s', (name) => {
  test('TO63 a service is asked in its own words with its key, and its answer becomes results', async () => {
    const queries: (string | undefined)[] = []
    using bench = await searching(name, (asked, response) => {
      queries.push((DOUBLES[name] as Double).query(asked))
      const packed = gzipSync(JSON.stringify((DOUBLES[name] as Double).results))
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(packed)
    })
    expect(await bench.search()).toMatchObject({ success: true, output: { provider: name, results: found } })
    expect(queries).toEqual(['a b & "c" ü'])
  })

  test('TO64 a refused key, a limit, a plan that is used up and a failure say what to do, without the key', async () => {
    const said = async (status: number, body: unknown, headers?: Record<string, string>) => {
      using bench = await searching(name, (_asked, response) => json(response, status, body, headers))
      const answer = await bench.search()
      expect(answer).toMatchObject({ success: false, code: 'tool_failed' })
      expect(answer.text).not.toContain(KEY)
      expect(answer.text).toContain(`status ${status}`)
      return answer.text
    }
    const echo = { detail: `bad key ${KEY}` }
    const { variable } = DOUBLES[name] as Double
    if (name === 'searxng') expect(await said(403, echo)).toContain('settings.yml')
    else {
      expect(await said(401, echo)).toContain(`check ${variable}`)
      expect(await said(403, echo)).toContain(`check ${variable}`)
    }
    expect(await said(429, {}, { 'retry-after': '7' })).toContain('again in 7 seconds')
    expect(await said(429, {}, { 'retry-after': 'tomorrow' })).toContain('again in a while')
    expect(await said(432, {})).toContain('used up')
    expect(await said(503, {})).toContain('again in a while')
    expect(await said(400, {})).toContain('fewer words')
  })

  test('TO64 an answer that holds no results is told as such', async () => {
    for (const body of [
      '',
      '<html>hello</html>',
      '[1',
      '7',
      '{"web": 3, "results": "none"}',
      '{"results":[{"url":1}]}',
    ]) {
      using bench = await searching(name, (_asked, response) => void response.writeHead(200).end(body))
      expect.soft((await bench.search()).text, body).toContain('holds no results')
    }
  })

  test('TO64 a service that does not answer ends with the call, and one that is not there is told', async () => {
    const given = new AbortController()
    using slow = await searching(name, () => given.abort(new Error('given up')))
    expect((await slow.search({ signal: given.signal })).text).toContain('given up')
    using broken = await searching(name, ({ request }) => void request.socket.destroy())
    const gone = await broken.search()
    expect(gone).toMatchObject({ success: false, code: 'tool_failed' })
    expect(gone.text).toContain('cannot be asked')
  })

  test('TO65 nobody is led on to another place, and nothing is asked at a host that is not allowed', async () => {
    const visits: string[] = []
    const elsewhere = await serve((request, response) => {
      visits.push(JSON.stringify(request.headers))
      json(response, 200, (DOUBLES[name] as Double).results)
    })
    for (const status of [301, 302, 307, 308]) {
      using bench = await searching(name, (_asked, response) => {
        response.writeHead(status, { location: `${elsewhere}/` }).end()
      })
      expect(await bench.search()).toMatchObject({ success: false, code: 'denied' })
    }
    using other = await searching(name, (_asked, response) => json(response, 200, {}), ['example.org'])
    const answer = await other.search()
    expect(answer).toMatchObject({ success: false, code: 'denied' })
    expect(answer.text).toContain('--allow-host 127.0.0.1')
    expect(visits).toEqual([])
  })
})

test('TO63 a redirect within the service is followed, with the same question', async () => {
  using bench = await searching('tavily', (asked, response) => {
    if (asked.request.url === '/search') response.writeHead(308, { location: '/v2' }).end()
    else json(response, 200, { results: [{ url: 'https://a.test', title: asked.request.method, content: asked.body }] })
  })
  const { output } = await bench.search()
  expect(output).toMatchObject({ results: [{ title: 'POST', snippet: expect.stringContaining('max_results') }] })
})

test('TO64 Brave’s own way to refuse a key is known', async () => {
  const error = { type: 'ErrorResponse', error: { code: 'SUBSCRIPTION_TOKEN_INVALID', status: 422 } }
  using bench = await searching('brave', (_asked, response) => json(response, 422, error))
  expect((await bench.search()).text).toContain('check BRAVE_API_KEY')
})

test('TO65 a service with a key is on the public internet; only an address of the operator’s own may be private', async () => {
  const baseUrl = await serve((_request, response) => json(response, 200, plain))
  for (const search of [braveSearch({ key: KEY, baseUrl }), tavilySearch({ key: KEY, baseUrl })]) {
    using bench = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'], search } })
    const answer = await bench.call('WebSearch', { query: 'anything' })
    expect(answer).toMatchObject({ success: false, code: 'denied' })
    expect(answer.text).toContain('not on the public internet')
  }
  using own = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'], search: searxngSearch(baseUrl) } })
  expect(await own.call('WebSearch', { query: 'anything' })).toMatchObject({ success: true })
})

test('TO66 the environment says which service: one’s own, then Brave, then Tavily; what is empty is not set', () => {
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
    expect(() => selectSearchProvider({ SEARXNG_URL: bad }), bad).toThrow('SEARXNG_URL is no address')
  }
})
