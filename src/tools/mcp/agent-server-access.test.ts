import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { createMcpHarness, envPlaceholder, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { createTestServer, waitUntil } from '../../../test/support/mcp-test-server.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { wallClock } from '../wall-clock.ts'
import type { AddressPolicy } from '../web/ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from '../web/ssrf-guard.ts'

const bringing = (servers: Record<string, unknown>) => agent('bringer', { tools: [], mcp_servers: servers })

test('MC37 without a sandbox no program is started unless somebody said so; the refusal says what to do', async () => {
  const none: Sandbox = { kind: 'none', spawn: () => Promise.reject(new Error('never')), close: async () => {} }
  for (const more of [{}, { sandbox: none }]) {
    const scene = createTestServer()
    const { mcp, warnings } = createMcpHarness({ s: scene.config }, { unconfined: false, ...more })
    await mcp.prepare(TEST_AGENT)
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the MCP server 's' was not started: there is no sandbox .*--no-sandbox.*unconfined: true/,
      ),
    ])
    expect(mcp.status()).toMatchObject([{ state: 'lost', tools: 0, problems: [expect.stringContaining('no sandbox')] }])
    expect(mcp.prepare(TEST_AGENT)).toBeUndefined()
    expect(scene.pids()).toEqual([])
  }
})

test('MC38 a server that an agent brings gets the variables that were lent, and the others are named', async () => {
  const env = { PATH: process.env.PATH, KEY: 'key-of-the-operator', OTHER: 'also-of-the-operator', LENT: 'lent-to-you' }
  const of = (given: Record<string, string>) => createTestServer({}, given)
  const greedy = of({ A: envPlaceholder('KEY'), B: `x ${envPlaceholder('OTHER')}`, C: envPlaceholder('LENT') })
  const modest = of({ A: envPlaceholder('KEY:-nothing'), LENT: envPlaceholder('LENT') })
  const args = { ...of({}).config, args: [envPlaceholder('KEY')] }
  const http = {
    url: `https://example.com/${envPlaceholder('KEY')}`,
    headers: { Authorization: envPlaceholder('OTHER') },
  }
  const { mcp, warnings } = createMcpHarness(
    { operators: of({ A: envPlaceholder('KEY') }).config },
    { env, exposeEnv: ['LENT'], hosts: ['*'] },
  )
  await mcp.prepare(bringing({ greedy: greedy.config, modest: modest.config, args, http, operators: null }))
  const not = (name: string, which: string) =>
    `the MCP server '${name}' was not started: the ${which} not lent to a server that an agent brings; ` +
    `lend with ${(which.match(/[A-Z]+/g) ?? []).map((each) => `--lend ${each}`).join(' ')} (in a program: mcp.lend), ` +
    "or put the server into the operator's configuration"
  expect(warnings.toSorted()).toEqual([
    "MCP server 'modest': the variable KEY is not lent to a server that an agent brings; what it has in place of it is used",
    not('args', 'variable KEY is'),
    not('greedy', 'variables KEY, OTHER are'),
    not('http', 'variables KEY, OTHER are'),
  ])
  expect(greedy.pids()).toEqual([])
  expect(mcp.status().flatMap(({ name, state }) => (state === 'ready' ? name : []))).toEqual(['operators', 'modest'])
})

test('MC39 a server that an agent brings is at a public address of an allowed host; the operator’s may be anywhere', async () => {
  const here = await listening()
  const names: Record<string, string> = { 'inside.test': '10.1.2.3', 'rebound.test': '127.0.0.1' }
  const resolve = async (host: string) => [{ address: names[host] ?? '203.0.113.9', family: 4 as const }]
  const addresses: AddressPolicy = { ...PUBLIC_ADDRESSES, resolve }
  const url = (host: string) => ({ url: `http://${host}:${here.port}/mcp` })
  const hosts = ['inside.test', 'rebound.test', '127.0.0.1', '[::1]', 'localhost']
  const strict = createMcpHarness({ operators: url('127.0.0.1') }, { hosts, addresses })
  const own = {
    stranger: url('other.test'),
    inside: url('inside.test'),
    rebound: url('rebound.test'),
    loop: url('127.0.0.1'),
    odd: url('2130706433'),
    six: url('[::1]'),
    file: { url: 'file:///etc/passwd' },
  }
  await strict.mcp.prepare(bringing(own))
  expect(here.asked).toEqual([])
  expect(strict.warnings).toHaveLength(7)
  expect(strict.warnings.find((words) => words.includes("'stranger'"))).toMatch(
    /host 'other.test' is not allowed; allow it with --allow-host other.test, or put .* operator's configuration/,
  )
  for (const name of ['inside', 'rebound', 'loop', 'odd', 'six']) {
    expect(strict.warnings.find((words) => words.includes(`'${name}'`))).toMatch(
      /was not started.*not on the public inter/,
    )
  }
  await strict.mcp.prepare(agent('other', { mcp_servers: { operators: null } }))
  expect(here.asked.length).toBeGreaterThan(0)
  const unset = createMcpHarness({})
  await unset.mcp.prepare(bringing({ web: { url: 'https://example.com/mcp' } }))
  expect(unset.warnings).toEqual([expect.stringContaining('allowed: none')])
})

test('MC39 an allowed server is spoken to at the address that was judged, under its name', async () => {
  const here = await listening()
  const addresses: AddressPolicy = {
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    isAllowed: (_address, port) => port === here.port,
  }
  const web = { url: `http://tools.test:${here.port}/mcp`, headers: { Authorization: 'Bearer mine' } }
  const { mcp, call, warnings } = createMcpHarness({}, { hosts: ['tools.test'], addresses })
  await mcp.prepare(bringing({ web }))
  expect(warnings).toEqual([])
  expect(await call('mcp__web__echo', { text: 'a' })).toMatchObject({ success: true, output: 'heard' })
  expect(here.asked).toContain(`tools/call tools.test:${here.port} Bearer mine`)
})

test('MC40 a server that is not ready after two seconds is reported while it is waited for', async () => {
  const mute = createTestServer({ hang: ['initialize'] })
  const world = { sleep: (ms: number, signal?: AbortSignal) => wallClock.sleep(ms === 2000 ? 1 : ms, signal) }
  const { mcp, warnings } = createMcpHarness({ mute: mute.config }, { world })
  const preparing = mcp.prepare(TEST_AGENT)
  await waitUntil(() => warnings.length > 0)
  expect(warnings).toEqual(["the MCP server 'mute' is not ready after 2000 ms; it is waited for up to 20000 ms"])
  expect(mcp.status()).toMatchObject([{ state: 'starting' }])
  await mcp.close()
  await preparing
})

test('MC41 a permission for one call is for exactly its input, in whatever order it is written', async () => {
  const { mcp } = createMcpHarness({ s: createTestServer().config })
  await mcp.prepare(TEST_AGENT)
  const subject = (input: unknown) => mcp.tools.get('mcp__s__echo')?.subject?.(input as never)
  expect(subject({ b: { d: 1, c: 2 }, a: 'x' })).toBe('{"a":"x","b":{"c":2,"d":1}}')
  expect(subject({ a: 'x', b: { c: 2, d: 1 } })).toBe(subject({ b: { d: 1, c: 2 }, a: 'x' }))
  expect(subject({ a: 'x', b: { c: 2, d: '1' } })).not.toBe(subject({ a: 'x', b: { c: 2, d: 1 } }))
})

/** A server at an address of this machine that answers with one tool, and what it was asked. */
async function listening(): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = []
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'here', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'heard' }] },
  }
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('')
    const { id, method = request.method } = body === '' ? {} : (JSON.parse(body) as { id?: number; method?: string })
    asked.push(`${method} ${request.headers.host} ${request.headers.authorization}`)
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (id === undefined) return response.writeHead(202).end()
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method ?? ''] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const address = server.address()
  return { port: typeof address === 'object' && address ? address.port : 0, asked }
}
