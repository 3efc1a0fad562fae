import { expect, test } from 'vitest'
import { createMcpHarness, envPlaceholder, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { createTestServer, temporaryFolder } from '../../../test/support/mcp-test-server.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import { wallClock } from '../tools.ts'
import type { McpServersOptions } from './mcp-servers.ts'
import { createMcpServers } from './mcp-servers.ts'

test('MC12 a server gets harmless variables and its own env; secrets are redacted from errors and status', async () => {
  const env = {
    PATH: process.env.PATH,
    HOME: temporaryFolder(),
    API_KEY: 'key-of-the-operator',
    SECRET_VALUE: 'hunter2-hunter2',
  }
  const config = createTestServer(
    {},
    { TOKEN: `Bearer ${envPlaceholder('SECRET_VALUE')}`, REGION: envPlaceholder('REGION:-north') },
  ).config
  const { mcp, call, warnings } = createMcpHarness(
    { s: config, t: { ...config, args: [envPlaceholder('MISSING')] } },
    { env },
  )
  await mcp.prepare(TEST_AGENT)
  expect(warnings).toEqual([
    "the MCP server 't' could not be started: the environment variable MISSING is not set; set MISSING and start again",
  ])
  const { output } = await call('mcp__s__environment')
  expect(String(output).split(' ')).toEqual(['HOME', 'PATH', 'REGION', 'TEST_SERVER', 'TOKEN'])
  const message = await call('mcp__s__blurt').catch((error: Error) => error.message)
  expect(message).toContain('cannot use …')
  expect(JSON.stringify([message, mcp.status()])).not.toContain('hunter2')
})

test('MC13 an agent cannot take the name of another server, and an agent of a model declares none', async () => {
  const mine = createTestServer()
  const { mcp, warnings } = createMcpHarness({ shared: createTestServer().config })
  const agentWithServers = (name: string, servers: Record<string, unknown>) =>
    agent(name, { tools: [], mcp_servers: servers })
  const a = agentWithServers('a', {
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
  const other = agentWithServers('b', {
    mine: { command: 'other' },
    shared: { command: 'other' },
    odd: 7,
    '!!': { url: 'x' },
  })
  expect(mcp.prepare(other)).toBeUndefined()
  expect(mcp.agentProvidedTools(other)).toEqual([])
  expect(mcp.prepare(agentWithServers('c', { mine: mine.config }))).toBeUndefined()
  expect(mine.pids()).toHaveLength(1)
  expect(warnings.map((problem) => problem.split(': ').slice(0, 2).join(': '))).toEqual([
    "agent a: MCP server 'not there'",
    "agent b: MCP server 'mine'",
    "agent b: MCP server 'shared'",
    "agent b: MCP server 'odd'",
    "agent b: MCP server '!!'",
  ])
})

test('MC14 an invalid configuration is rejected before anything starts, without its secrets', () => {
  const create = (servers: Record<string, unknown>) => () =>
    createMcpServers({ servers: servers as McpServersOptions['servers'], world: wallClock, env: {} })
  expect(create({ a: {} })).toThrow("the MCP server 'a' is invalid: the entry needs either `command` or `url`")
  expect(create({ a: { command: 'x', url: 'y' } })).toThrow('either')
  expect(create({ a: { type: 'sse', url: 'http://x' } })).toThrow("'sse' is not supported")
  expect(create({ a: { command: 'x', env: { KEY: ['s3cret'] } } })).toThrow(/^(?!.*s3cret).*env/)
  const similar = create({ 'a b': { command: 'x' }, a_b: { command: 'x' } })
  expect(similar).toThrow("too similar to 'a b'")
  expect(similar).toThrow(expect.objectContaining({ hint: 'rename it in `mcpServers`' }))
  expect(create({ __: { command: 'x' } })).toThrow('no letter')
  expect(create({ a: { command: 'x', timeout: -1 } })).toThrow('timeout')
})

test('MC15 no server name can imitate the tools of another server', async () => {
  const server = createTestServer()
  const { mcp } = createMcpHarness({ files__x: server.config, files_: createTestServer().config })
  await mcp.prepare(TEST_AGENT)
  expect(mcp.status().map(({ name }) => name)).toEqual(['files_x', 'files'])
  expect([...mcp.tools.keys()].every((name) => /^mcp__files(_x)?__[a-z]/.test(name))).toBe(true)
})

test('MC16 a server that supports only the newer protocol version works', async () => {
  const { mcp, call, warnings } = createMcpHarness({ s: createTestServer({ era: 'modern' }).config })
  await mcp.prepare(TEST_AGENT)
  expect(warnings).toEqual([])
  expect(await call('mcp__s__echo', { text: 'new' })).toMatchObject({ success: true, output: 'new' })
})
