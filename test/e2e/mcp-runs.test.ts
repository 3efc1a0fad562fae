import { expect, onTestFinished, test } from 'vitest'
import type { Agent, Event, Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe, isEvent } from '../../src/index.ts'
import type { TestServer, TestServerBehavior } from '../support/mcp-test-server.ts'
import { createTestServer, isAlive, waitUntil } from '../support/mcp-test-server.ts'
import type { ModelReply } from '../support/test-troupe.ts'
import { agent, createTroupeWithStore, functionModel, lastMessageText, storeOf } from '../support/test-troupe.ts'

type RepliesByAgent = Record<string, readonly ModelReply[]>

interface McpRunSetup {
  troupe: Troupe
  /** The last message of each request, by agent. */
  inputs: Record<string, string[]>
  /** The tools of each agent's session, without patterns. */
  tools(run_id: string): Promise<Record<string, string[]>>
}

/** Creates a troupe whose agents reply by turn, and then with `done`. */
async function createSetup(replies: RepliesByAgent, options: TroupeOptions): Promise<McpRunSetup> {
  const inputs: Record<string, string[]> = {}
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    inputs[name] = [...(inputs[name] ?? []), lastMessageText(request)]
    return replies[name]?.[turn - 1] ?? { text: 'done' }
  })
  const troupe = await createTroupeWithStore({ store: 'memory', model, ...options })
  onTestFinished(() => troupe.close())
  return {
    troupe,
    inputs,
    async tools(run_id) {
      const opened = (await troupe.events(run_id).all()).flatMap((event) =>
        isEvent(event, 'session:open') ? event.data : [],
      )
      const servers = (names: readonly string[]) => names.filter((name) => !/^(task|ask_user)/.test(name))
      return Object.fromEntries(opened.map(({ agent: { name }, tools }) => [name, servers(tools)]))
    },
  }
}

const callTool = (name: string, input: unknown = {}): ModelReply => ({ calls: [{ name, input }] })
const delegateTo = (...names: string[]): ModelReply => ({
  calls: names.map((name) => ({ name: 'task', input: { agent: name, instruction: 'go' } })),
})
const twoTools: TestServerBehavior = {
  tools: ['echo', 'look'].map((name) => ({ name, inputSchema: { type: 'object' } })),
}
const start = (troupe: Troupe, name = 'boss') => troupe.run('task', { agent: name, instruction: 'go' })
const toolEvents = (events: readonly Event[], type: 'tool:error' | 'tool:post') =>
  events.filter((event) => isEvent(event, type))

function singleServer(
  behavior: TestServerBehavior = {},
  more: Partial<TestServer['config']> = {},
): { server: TestServer; mcp: TroupeOptions['mcp'] } {
  const server = createTestServer(behavior)
  return { server, mcp: { servers: { s: { ...server.config, ...more } }, unconfined: true } }
}

test('MC25 an agent-provided server is available only to that agent and its delegates', async () => {
  const mine = createTestServer(twoTools)
  const agents: Agent[] = [
    agent('boss'),
    agent('provider', { tools: ['task'], mcp_servers: { mine: mine.config } }),
    agent('delegate'),
    agent('other'),
    agent('attacker', { tools: ['mcp__mine__echo', 'mcp__mine', 'mcp__*', 'mine/*'] }),
  ]
  const replies = {
    boss: [delegateTo('provider'), delegateTo('other', 'attacker')],
    provider: [delegateTo('delegate')],
    attacker: [callTool('mcp__mine__echo', { text: 'x' })],
  }
  const { troupe, inputs, tools } = await createSetup(replies, {
    agents,
    limits: { depth: 3 },
    mcp: { servers: { s: createTestServer(twoTools).config }, unconfined: true },
  })
  const { run_id, status } = await start(troupe)
  const [shared, own] = ['s', 'mine'].map((name) => [`mcp__${name}__echo`, `mcp__${name}__look`])
  expect(status).toBe('completed')
  expect(await tools(run_id)).toEqual({
    boss: shared,
    provider: own,
    delegate: own,
    other: shared,
    attacker: shared,
  })
  expect(inputs.attacker?.[1]).toContain('unknown_tool')
  expect(mine.log()).not.toContain('call echo')
  expect((await troupe.replay(run_id)).differences).toEqual([])
  const otherTroupe = await createTroupe({ store: storeOf(troupe), agents })
  expect((await otherTroupe.replay(run_id)).differences).toEqual([])
  expect(mine.pids()).toHaveLength(1)
})

test('MC26 tools can be named mcp__server, mcp__server__*, server/* and server/tool, including in exclusions and rules', async () => {
  const agents = [
    agent('boss', { tools: ['task'] }),
    agent('whole', { tools: ['mcp__s'] }),
    agent('star', { tools: ['mcp__s__*'] }),
    agent('slash', { tools: ['s/look', 's/*'] }),
    agent('single', { tools: ['s/echo'] }),
    agent('less', { tools: ['mcp__s'], exclude_tools: ['mcp__s__look'] }),
    agent('none', { mcp_servers: { s: null }, exclude_tools: ['mcp__s'] }),
    agent('denied', { mcp_servers: { s: null }, tools: [], permissions: { deny: ['mcp__s'] } }),
  ]
  const names = agents.slice(1).map(({ name }) => name)
  const replies = { boss: [delegateTo(...names)], denied: [callTool('mcp__s__echo', { text: 'a' })] }
  const { server, mcp } = singleServer(twoTools)
  const { troupe, inputs, tools } = await createSetup(replies, { agents, ...(mcp ? { mcp } : {}) })
  const { run_id } = await start(troupe)
  const both = ['mcp__s__echo', 'mcp__s__look']
  expect(await tools(run_id)).toEqual({
    boss: [],
    whole: both,
    star: both,
    slash: both.toReversed(),
    single: both.slice(0, 1),
    less: both.slice(0, 1),
    none: [],
    denied: both,
  })
  expect(inputs.denied?.[1]).toContain('Error (denied)')
  expect(server.log()).not.toContain('call echo')
})

test('MC13 S6 an agent created by a model cannot provide or start a server', async () => {
  const mine = createTestServer(twoTools)
  const created = agent('created', {
    mcp_servers: { mine: mine.config },
    tools: ['mcp__mine', 'mcp__s'],
    origin: { by: 'model' },
  })
  const boss = agent('boss', { tools: ['task', 'mcp__s__echo'] })
  const options = {
    agents: [boss, created],
    mcp: { servers: { s: createTestServer(twoTools).config }, unconfined: true },
  }
  const { troupe, tools } = await createSetup({ boss: [delegateTo('created')] }, options)
  const { run_id } = await start(troupe)
  expect((await tools(run_id)).created).toEqual(['mcp__s__echo'])
  expect(mine.pids()).toEqual([])
})

test('MC55 a call that hangs fails after its timeout, and the run continues', async () => {
  const { mcp, server } = singleServer({}, { timeout: 500 })
  const replies = { boss: [callTool('mcp__s__hang'), callTool('mcp__s__echo', { text: 'there' })] }
  const { troupe, inputs } = await createSetup(replies, { agents: [agent('boss')], ...(mcp ? { mcp } : {}) })
  expect((await start(troupe)).status).toBe('completed')
  expect(inputs.boss?.[1]).toContain('Error (tool_timeout): mcp__s__hang did not return within 500 ms')
  expect(inputs.boss?.[2]).toContain('there')
  expect(server.pids()).toHaveLength(1)
})

test('MC29 invalid input, schema violations and huge results of a server become tool errors and results', async () => {
  const never = { type: 'object', properties: { a: { not: {} } }, required: ['a'] }
  const tools = [
    { name: 'refuse', inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    { name: 'mixed', inputSchema: never },
    { name: 'flood', inputSchema: { type: 'object' }, outputSchema: { type: 'object', required: ['n'] } },
    { name: 'broken', inputSchema: { type: 'object', properties: [] } },
    { name: 'missing', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  ]
  const { mcp } = singleServer({ tools })
  const turns = ['refuse', 'mixed', 'mixed', 'flood', 'missing'].map((name) => callTool(`mcp__s__${name}`, { a: 'x' }))
  const { troupe, inputs } = await createSetup({ boss: turns }, { agents: [agent('boss')], ...(mcp ? { mcp } : {}) })
  const { status, run_id } = await start(troupe)
  expect(status).toBe('completed')
  expect(inputs.boss?.[1]).toContain('expected numbers, whatever the schema says')
  for (const turn of [2, 3]) expect(inputs.boss?.[turn]).toContain('do not match its schema')
  expect(inputs.boss?.[4]).toContain('of 400000 characters; request a smaller part')
  expect(inputs.boss?.[5]).toContain('no tool missing')
  expect(toolEvents(await troupe.events(run_id).all(), 'tool:error')).toHaveLength(4)
  expect(troupe.mcpServers()[0]?.problems).toEqual([expect.stringContaining("tool 'broken' is skipped")])
})

test('MC9 MC10 cancel ends the call in flight and the run, and close ends the server process', async () => {
  const { mcp, server } = singleServer()
  const { troupe } = await createSetup(
    { boss: [callTool('mcp__s__hang')] },
    { agents: [agent('boss')], ...(mcp ? { mcp } : {}) },
  )
  const run = await troupe.stream('task', { agent: 'boss', instruction: 'go' })
  await waitUntil(() => server.log().includes('call hang'))
  expect((await troupe.cancel(run.run_id)).status).toBe('cancelled')
  await waitUntil(() => server.log().includes('notifications/cancelled'))
  await troupe.close()
  await waitUntil(() => !server.pids().some(isAlive))
})

test('MC31 cancel does not wait for a server that is starting', async () => {
  const { mcp, server } = singleServer({ hang: ['initialize'] })
  const { troupe } = await createSetup({}, { agents: [agent('boss')], ...(mcp ? { mcp } : {}) })
  const run = await troupe.stream('task', { agent: 'boss', instruction: 'go' })
  await waitUntil(() => server.log().includes('initialize'))
  expect((await troupe.cancel(run.run_id)).status).toBe('cancelled')
  await troupe.close()
  await waitUntil(() => !server.pids().some(isAlive))
})

test('MC32 a session keeps its tools when the server changes them; later sessions get the new ones', async () => {
  const { mcp } = singleServer()
  const replies = { boss: [callTool('mcp__s__grow'), delegateTo('later')] }
  const agents = [agent('boss'), agent('later', { tools: ['mcp__s'] })]
  const { troupe, tools } = await createSetup(replies, {
    agents,
    ...(mcp ? { mcp } : {}),
    hooks: [waitForToolChange(() => troupe)],
  })
  const { run_id } = await start(troupe)
  const opened = await tools(run_id)
  expect(opened.boss).toContain('mcp__s__put')
  expect(opened.later).toContain('mcp__s__grown')
  expect(opened.later).not.toContain('mcp__s__put')
  expect((await troupe.replay(run_id)).differences).toEqual([])
})

test('MC33 a run continues without a server that cannot start, and warns', async () => {
  const warnings: string[] = []
  const listen = (warning: Error) => void warnings.push(warning.message)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const servers = { gone: { command: '/nowhere/no-such-program' }, s: createTestServer(twoTools).config }
  const { troupe, tools } = await createSetup({}, { agents: [agent('boss')], mcp: { servers, unconfined: true } })
  const { run_id, status } = await start(troupe)
  expect(status).toBe('completed')
  expect((await tools(run_id)).boss).toEqual(['mcp__s__echo', 'mcp__s__look'])
  await waitUntil(() => warnings.length > 0)
  expect(warnings).toEqual(["the MCP server 'gone' could not be started: spawn /nowhere/no-such-program ENOENT"])
  expect(troupe.mcpServers().map(({ name, state }) => [name, state])).toEqual([
    ['gone', 'idle'],
    ['s', 'ready'],
  ])
})

/** Delays the next delegation until the new tool list has arrived. */
function waitForToolChange(troupe: () => Troupe): NonNullable<TroupeOptions['hooks']>[number] {
  return {
    async beforeTool({ tool }) {
      if (tool === 'task')
        await waitUntil(() =>
          troupe()
            .mcpServers()
            .some(({ tools }) => tools === 15),
        )
      return undefined
    },
  }
}

test('MC44 a session resumed in another run gets the servers of its callers, or an error if they are gone', async () => {
  const mine = createTestServer(twoTools)
  const boss = agent('boss', { tools: ['task'], mcp_servers: { mine: mine.config } })
  const others = [agent('other', { tools: ['task'] }), agent('delegate')]
  const mcp = { unconfined: true }
  const first = await createSetup({ boss: [delegateTo('delegate')] }, { agents: [boss, ...others], mcp })
  const { run_id } = await start(first.troupe)
  const session_id = (await first.troupe.sessions({ run_id }).all()).find(
    (each) => each.agent === 'delegate',
  )?.session_id
  expect((await first.tools(run_id)).delegate).toContain('mcp__mine__look')
  const store = storeOf(first.troupe)
  const look = callTool('mcp__mine__look')
  const resume: ModelReply = { calls: [{ name: 'task', input: { session_id, instruction: 'on' } }] }

  const available = await createSetup(
    { other: [resume], delegate: [look, look] },
    { agents: [boss, ...others], mcp, store },
  )
  const resumed = await available.troupe.run('task', { session_id, instruction: 'on' })
  expect(available.inputs.delegate?.[1]).toMatch(/pid \d+/)
  expect((await available.troupe.replay(resumed.run_id)).differences).toEqual([])
  expect(mine.pids()).toHaveLength(2)

  const removed = await createSetup({ delegate: [look, look, look, look] }, { agents: others, mcp, store })
  await removed.troupe.run('task', { session_id, instruction: 'on' })
  expect(removed.inputs.delegate?.[1]).toContain(
    "the tool 'mcp__mine__look' is no longer available: its MCP server is not part of this run",
  )

  const unrelated = await start(available.troupe, 'other')
  expect(await available.tools(unrelated.run_id), 'an agent of another run cannot resume it').toEqual({
    other: expect.any(Array),
  })
})
