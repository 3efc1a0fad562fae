import { expect, test } from 'vitest'
import { ANYONE, bench, variable } from '../../../test/mcp-bench.ts'
import { sceneServer, temporary } from '../../../test/mcp-scene.ts'
import { agent } from '../../../test/stage.ts'
import { wallClock } from '../wall-clock.ts'
import type { McpOptions } from './mcp.ts'
import { createMcp } from './mcp.ts'

test('MC12 a server sees harmless variables and its own; what it was given stays secret, also in errors', async () => {
  const env = { PATH: process.env.PATH, HOME: temporary(), API_KEY: 'key-of-the-operator', GIVEN: 'hunter2-hunter2' }
  const config = sceneServer({}, { TOKEN: `Bearer ${variable('GIVEN')}`, REGION: variable('REGION:-north') }).config
  const { mcp, call, warned } = bench({ s: config, t: { ...config, args: [variable('MISSING')] } }, { env })
  await mcp.prepare(ANYONE)
  expect(warned).toEqual(["the MCP server 't' could not be started: the variable MISSING is not set"])
  const { output } = await call('mcp__s__environment')
  expect(String(output).split(' ')).toEqual(['HOME', 'PATH', 'REGION', 'SCENE', 'TOKEN'])
  const lost = await call('mcp__s__blurt').catch((error: Error) => error.message)
  expect(lost).toContain('cannot use …')
  expect(JSON.stringify([lost, mcp.status()])).not.toContain('hunter2')
})

test('MC13 a server that an agent brings is its own: the names of others are not taken, and models bring none', async () => {
  const mine = sceneServer()
  const { mcp, warned } = bench({ shared: sceneServer().config })
  const bringing = (name: string, servers: Record<string, unknown>) => agent(name, { tools: [], mcp_servers: servers })
  const a = bringing('a', {
    mine: mine.config,
    shared: null,
    'not there': null,
    off: { url: 'http://x', disabled: true },
  })
  expect(mcp.prepare({ ...a, origin: { by: 'model' } })).toBeUndefined()
  await mcp.prepare(a)
  expect(mcp.toolsOf(a)).toEqual(expect.arrayContaining(['mcp__mine__echo', 'mcp__shared__echo']))
  expect(mcp.toolsOf({ ...a, origin: { by: 'model' } })).toEqual([])
  expect(mcp.tools.get('mcp__mine__echo')?.brought).toBe(true)
  expect(mcp.tools.get('mcp__shared__echo')?.brought).toBeUndefined()
  const other = bringing('b', { mine: { command: 'other' }, shared: { command: 'other' }, odd: 7, '!!': { url: 'x' } })
  expect(mcp.prepare(other)).toBeUndefined()
  expect(mcp.toolsOf(other)).toEqual([])
  expect(mcp.prepare(bringing('c', { mine: mine.config }))).toBeUndefined()
  expect(mine.pids()).toHaveLength(1)
  expect(warned.map((problem) => problem.split(': ').slice(0, 2).join(': '))).toEqual([
    "the agent a: MCP server 'not there'",
    "the agent b: MCP server 'mine'",
    "the agent b: MCP server 'shared'",
    "the agent b: MCP server 'odd'",
    "the agent b: MCP server '!!'",
  ])
})

test('MC14 a configuration that cannot be meant is refused before anything starts, without its secrets', () => {
  const create = (servers: Record<string, unknown>) => () =>
    createMcp({ servers: servers as McpOptions['servers'], world: wallClock, env: {} })
  expect(create({ a: {} })).toThrow("the MCP server 'a' is not usable: it needs either a command or a url")
  expect(create({ a: { command: 'x', url: 'y' } })).toThrow('either')
  expect(create({ a: { type: 'sse', url: 'http://x' } })).toThrow("'sse' is not supported")
  expect(create({ a: { command: 'x', env: { KEY: ['s3cret'] } } })).toThrow(/^(?!.*s3cret).*env/)
  expect(create({ 'a b': { command: 'x' }, a_b: { command: 'x' } })).toThrow("too close to 'a b'")
  expect(create({ __: { command: 'x' } })).toThrow('no letter')
  expect(create({ a: { command: 'x', timeout: -1 } })).toThrow('timeout')
})

test('MC15 no server can be named so that its tools pass for those of another', async () => {
  const scene = sceneServer()
  const { mcp } = bench({ files__x: scene.config, files_: sceneServer().config })
  await mcp.prepare(ANYONE)
  expect(mcp.status().map(({ name }) => name)).toEqual(['files_x', 'files'])
  expect([...mcp.tools.keys()].every((name) => /^mcp__files(_x)?__[a-z]/.test(name))).toBe(true)
})

test('MC16 a server that knows only the newer protocol is spoken to in it', async () => {
  const { mcp, call, warned } = bench({ s: sceneServer({ era: 'modern' }).config })
  await mcp.prepare(ANYONE)
  expect(warned).toEqual([])
  expect(await call('mcp__s__echo', { text: 'new' })).toMatchObject({ success: true, output: 'new' })
})
