import { expect, test } from 'vitest'
import { createMcpHarness, envPlaceholder, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { createTestServer, temporaryFolder } from '../../../test/support/mcp-test-server.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import { wallClock } from '../wall-clock.ts'
import type { McpServersOptions } from './mcp-servers.ts'
import { createMcpServers } from './mcp-servers.ts'

test('MC12 a server sees harmless variables and its own; what it was given stays secret, also in errors', async () => {
  const env = {
    PATH: process.env.PATH,
    HOME: temporaryFolder(),
    API_KEY: 'key-of-the-operator',
    GIVEN: 'hunter2-hunter2',
  }
  const config = createTestServer(
    {},
    { TOKEN: `Bearer ${envPlaceholder('GIVEN')}`, REGION: envPlaceholder('REGION:-north') },
  ).config
  const { mcp, call, warnings } = createMcpHarness(
    { s: config, t: { ...config, args: [envPlaceholder('MISSING')] } },
    { env },
  )
  await mcp.prepare(TEST_AGENT)
  expect(warnings).toEqual(["the MCP server 't' could not be started: the variable MISSING is not set"])
  const { output } = await call('mcp__s__environment')
  expect(String(output).split(' ')).toEqual(['HOME', 'PATH', 'REGION', 'TEST_SERVER', 'TOKEN'])
  const lost = await call('mcp__s__blurt').catch((error: Error) => error.message)
  expect(lost).toContain('cannot use …')
  expect(JSON.stringify([lost, mcp.status()])).not.toContain('hunter2')
})

test('MC13 a server that an agent brings is its own: the names of others are not taken, and models bring none', async () => {
  const mine = createTestServer()
  const { mcp, warnings } = createMcpHarness({ shared: createTestServer().config })
  const bringing = (name: string, servers: Record<string, unknown>) => agent(name, { tools: [], mcp_servers: servers })
  const a = bringing('a', {
    mine: mine.config,
    shared: null,
    'not there': null,
    off: { url: 'http://x', disabled: true },
  })
  expect(mcp.prepare({ ...a, origin: { by: 'model' } })).toBeUndefined()
  await mcp.prepare(a)
  expect(mcp.agentProvidedTools(a)).toEqual(expect.arrayContaining(['mcp__mine__echo', 'mcp__shared__echo']))
  expect(mcp.agentProvidedTools({ ...a, origin: { by: 'model' } })).toEqual([])
  expect(mcp.tools.get('mcp__mine__echo')?.agent_provided).toBe(true)
  expect(mcp.tools.get('mcp__shared__echo')?.agent_provided).toBeUndefined()
  const other = bringing('b', { mine: { command: 'other' }, shared: { command: 'other' }, odd: 7, '!!': { url: 'x' } })
  expect(mcp.prepare(other)).toBeUndefined()
  expect(mcp.agentProvidedTools(other)).toEqual([])
  expect(mcp.prepare(bringing('c', { mine: mine.config }))).toBeUndefined()
  expect(mine.pids()).toHaveLength(1)
  expect(warnings.map((problem) => problem.split(': ').slice(0, 2).join(': '))).toEqual([
    "the agent a: MCP server 'not there'",
    "the agent b: MCP server 'mine'",
    "the agent b: MCP server 'shared'",
    "the agent b: MCP server 'odd'",
    "the agent b: MCP server '!!'",
  ])
})

test('MC14 a configuration that cannot be meant is refused before anything starts, without its secrets', () => {
  const create = (servers: Record<string, unknown>) => () =>
    createMcpServers({ servers: servers as McpServersOptions['servers'], world: wallClock, env: {} })
  expect(create({ a: {} })).toThrow("the MCP server 'a' is not usable: it needs either a command or a url")
  expect(create({ a: { command: 'x', url: 'y' } })).toThrow('either')
  expect(create({ a: { type: 'sse', url: 'http://x' } })).toThrow("'sse' is not supported")
  expect(create({ a: { command: 'x', env: { KEY: ['s3cret'] } } })).toThrow(/^(?!.*s3cret).*env/)
  expect(create({ 'a b': { command: 'x' }, a_b: { command: 'x' } })).toThrow("too close to 'a b'")
  expect(create({ __: { command: 'x' } })).toThrow('no letter')
  expect(create({ a: { command: 'x', timeout: -1 } })).toThrow('timeout')
})

test('MC15 no server can be named so that its tools pass for those of another', async () => {
  const scene = createTestServer()
  const { mcp } = createMcpHarness({ files__x: scene.config, files_: createTestServer().config })
  await mcp.prepare(TEST_AGENT)
  expect(mcp.status().map(({ name }) => name)).toEqual(['files_x', 'files'])
  expect([...mcp.tools.keys()].every((name) => /^mcp__files(_x)?__[a-z]/.test(name))).toBe(true)
})

test('MC16 a server that knows only the newer protocol is spoken to in it', async () => {
  const { mcp, call, warnings } = createMcpHarness({ s: createTestServer({ era: 'modern' }).config })
  await mcp.prepare(TEST_AGENT)
  expect(warnings).toEqual([])
  expect(await call('mcp__s__echo', { text: 'new' })).toMatchObject({ success: true, output: 'new' })
})
