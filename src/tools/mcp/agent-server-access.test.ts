import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { createMcpHarness, envPlaceholder, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { createTestServer, waitUntil } from '../../../test/support/mcp-test-server.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { wallClock } from '../tools.ts'
import type { AddressPolicy } from '../web/ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from '../web/ssrf-guard.ts'

const agentWithServers = (servers: Record<string, unknown>) => agent('owner', { tools: [], mcp_servers: servers })

test('MC37 without a sandbox no server is started unless unconfined is set; the report says what to do', async () => {
  const unsandboxed: Sandbox = {
    kind: 'none',
    spawn: () => Promise.reject(new Error('unexpected spawn')),
    close: async () => {},
  }
  for (const more of [{}, { sandbox: unsandboxed }]) {
    const server = createTestServer()
    const { mcp, warnings } = createMcpHarness({ s: server.config }, { unconfined: false, ...more })
    await mcp.prepare(TEST_AGENT)
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the MCP server 's' was not started: there is no sandbox .*--no-sandbox.*unconfined: true/,
      ),
    ])
    expect(mcp.status()).toMatchObject([{ state: 'lost', tools: 0, problems: [expect.stringContaining('no sandbox')] }])
    expect(mcp.prepare(TEST_AGENT)).toBeUndefined()
    expect(server.pids()).toEqual([])
  }
})

test('MC38 an agent-provided server gets only variables in exposeEnv, and the others are reported', async () => {
  const env = {
    PATH: process.env.PATH,
    KEY: 'key-of-the-operator',
    OTHER: 'also-of-the-operator',
    EXPOSED: 'exposed-value',
  }
  const serverWithEnv = (env: Record<string, string>) => createTestServer({}, env)
  const greedy = serverWithEnv({
    A: envPlaceholder('KEY'),
    B: `x ${envPlaceholder('OTHER')}`,
    C: envPlaceholder('EXPOSED'),
  })
  const modest = serverWithEnv({ A: envPlaceholder('KEY:-nothing'), EXPOSED: envPlaceholder('EXPOSED') })
  const args = { ...serverWithEnv({}).config, args: [envPlaceholder('KEY')] }
  const http = {
    url: `https://example.com/${envPlaceholder('KEY')}`,
    headers: { Authorization: envPlaceholder('OTHER') },
  }
  const { mcp, warnings } = createMcpHarness(
    { operators: serverWithEnv({ A: envPlaceholder('KEY') }).config },
    { env, exposeEnv: ['EXPOSED'], hosts: ['*'] },
  )
  await mcp.prepare(agentWithServers({ greedy: greedy.config, modest: modest.config, args, http, operators: null }))
  const notStarted = (server: string, variables: string) =>
    `the MCP server '${server}' was not started: the environment ${variables} not exposed to agent-provided servers; ` +
    `expose with ${(variables.match(/[A-Z]+/g) ?? []).map((name) => `--expose-env ${name}`).join(' ')} (or \`mcp.exposeEnv\`), ` +
    "or add the server to the operator's configuration"
  expect(warnings.toSorted()).toEqual([
    "MCP server 'modest': the environment variable KEY is not exposed to agent-provided servers; the default is used instead",
    notStarted('args', 'variable KEY is'),
    notStarted('greedy', 'variables KEY, OTHER are'),
    notStarted('http', 'variables KEY, OTHER are'),
  ])
  expect(greedy.pids()).toEqual([])
  expect(mcp.status().flatMap(({ name, state }) => (state === 'ready' ? name : []))).toEqual(['operators', 'modest'])
})

test('MC39 an agent-provided server needs a public address of an allowed host; the operator’s may be anywhere', async () => {
  const local = await startHttpServer()
  const names: Record<string, string> = { 'inside.test': '10.1.2.3', 'rebound.test': '127.0.0.1' }
  const resolve = async (host: string) => [{ address: names[host] ?? '203.0.113.9', family: 4 as const }]
  const addresses: AddressPolicy = { ...PUBLIC_ADDRESSES, resolve }
  const url = (host: string) => ({ url: `http://${host}:${local.port}/mcp` })
  const hosts = ['inside.test', 'rebound.test', '127.0.0.1', '[::1]', 'localhost']
  const strict = createMcpHarness({ operators: url('127.0.0.1') }, { hosts, addresses })
  const own = {
    unknown: url('other.test'),
    inside: url('inside.test'),
    rebound: url('rebound.test'),
    loop: url('127.0.0.1'),
    odd: url('2130706433'),
    six: url('[::1]'),
    file: { url: 'file:///etc/passwd' },
  }
  await strict.mcp.prepare(agentWithServers(own))
  expect(local.requests).toEqual([])
  expect(strict.warnings).toHaveLength(7)
  expect(strict.warnings.find((warning) => warning.includes("'unknown'"))).toMatch(
    /host 'other.test' is not allowed for agent-provided servers; allow it with --allow-host other.test, or add the server to `mcpServers` of the operator/,
  )
  for (const name of ['inside', 'rebound', 'loop', 'odd', 'six']) {
    expect(strict.warnings.find((warning) => warning.includes(`'${name}'`))).toMatch(
      /was not started.*has a non-public address/,
    )
  }
  await strict.mcp.prepare(agent('other', { mcp_servers: { operators: null } }))
  expect(local.requests.length).toBeGreaterThan(0)
  const unset = createMcpHarness({})
  await unset.mcp.prepare(agentWithServers({ web: { url: 'https://example.com/mcp' } }))
  expect(unset.warnings).toEqual([expect.stringContaining('allowed: none')])
})

test('MC39 requests go to the checked address, with the host name in the Host header', async () => {
  const local = await startHttpServer()
  const addresses: AddressPolicy = {
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    isAllowed: (_address, port) => port === local.port,
  }
  const web = { url: `http://tools.test:${local.port}/mcp`, headers: { Authorization: 'Bearer mine' } }
  const { mcp, call, warnings } = createMcpHarness({}, { hosts: ['tools.test'], addresses })
  await mcp.prepare(agentWithServers({ web }))
  expect(warnings).toEqual([])
  expect(await call('mcp__web__echo', { text: 'a' })).toMatchObject({ success: true, output: 'result' })
  expect(local.requests).toContain(`tools/call tools.test:${local.port} Bearer mine`)
})

test('MC40 a server that is not ready after two seconds is reported while the session waits', async () => {
  const silent = createTestServer({ hang: ['initialize'] })
  const world = { sleep: (ms: number, signal?: AbortSignal) => wallClock.sleep(ms === 2000 ? 1 : ms, signal) }
  const { mcp, warnings } = createMcpHarness({ silent: silent.config }, { world })
  const preparing = mcp.prepare(TEST_AGENT)
  await waitUntil(() => warnings.length > 0)
  expect(warnings).toEqual(["the MCP server 'silent' is not ready after 2000 ms; waiting up to 20000 ms"])
  expect(mcp.status()).toMatchObject([{ state: 'starting' }])
  await mcp.close()
  await preparing
})

test('MC41 the permission subject is the exact input, independent of key order', async () => {
  const { mcp } = createMcpHarness({ s: createTestServer().config })
  await mcp.prepare(TEST_AGENT)
  const subject = (input: unknown) => mcp.tools.get('mcp__s__echo')?.subject?.(input as never)
  expect(subject({ b: { d: 1, c: 2 }, a: 'x' })).toBe('{"a":"x","b":{"c":2,"d":1}}')
  expect(subject({ a: 'x', b: { c: 2, d: 1 } })).toBe(subject({ b: { d: 1, c: 2 }, a: 'x' }))
  expect(subject({ a: 'x', b: { c: 2, d: '1' } })).not.toBe(subject({ a: 'x', b: { c: 2, d: 1 } }))
})

/** Starts an HTTP MCP server with one tool that records its requests. */
async function startHttpServer(): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = []
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'local', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'result' }] },
  }
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('')
    const { id, method = request.method } = body === '' ? {} : (JSON.parse(body) as { id?: number; method?: string })
    requests.push(`${method} ${request.headers.host} ${request.headers.authorization}`)
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (id === undefined) return response.writeHead(202).end()
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method ?? ''] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const address = server.address()
  return { port: typeof address === 'object' && address ? address.port : 0, requests }
}
