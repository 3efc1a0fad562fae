import { expect, onTestFinished, test } from 'vitest'
import type { Agent, Event, Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe, isEvent } from '../../src/index.ts'
import type { TestServer, TestServerBehavior } from '../support/mcp-test-server.ts'
import { createTestServer, isAlive, waitUntil } from '../support/mcp-test-server.ts'
import type { ModelReply } from '../support/test-troupe.ts'
import { agent, functionModel, lastMessageText } from '../support/test-troupe.ts'

type RepliesByAgent = Record<string, readonly ModelReply[]>

interface McpRunSetup {
  troupe: Troupe
  /** What each agent's model was told last, turn by turn. */
  inputs: Record<string, string[]>
  /** The tools that a session of each agent was opened with, its patterns left out. */
  tools(run_id: string): Promise<Record<string, string[]>>
}

/** A troupe in which each agent says its turns, one after the other, and then that it is done. */
async function createSetup(play: RepliesByAgent, options: TroupeOptions): Promise<McpRunSetup> {
  const inputs: Record<string, string[]> = {}
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    inputs[name] = [...(inputs[name] ?? []), lastMessageText(request)]
    return play[name]?.[turn - 1] ?? { text: 'done' }
  })
  const troupe = await createTroupe({ store: 'memory', model, ...options })
  onTestFinished(() => troupe.close())
  return {
    troupe,
    inputs,
    async tools(run_id) {
      const opened = (await troupe.events(run_id)).flatMap((event) =>
        isEvent(event, 'session:open') ? event.data : [],
      )
      const servers = (names: readonly string[]) => names.filter((name) => !/^(task|ask_user)/.test(name))
      return Object.fromEntries(opened.map(({ agent: { name }, tools }) => [name, servers(tools)]))
    },
  }
}

const calling = (name: string, input: unknown = {}): ModelReply => ({ calls: [{ name, input }] })
const asking = (...names: string[]): ModelReply => ({
  calls: names.map((name) => ({ name: 'task', input: { agent: name, instruction: 'go' } })),
})
const small: TestServerBehavior = { tools: ['echo', 'look'].map((name) => ({ name, inputSchema: { type: 'object' } })) }
const start = (troupe: Troupe, name = 'boss') => troupe.run('task', { agent: name, instruction: 'go' })
const ends = (events: readonly Event[], type: 'tool:error' | 'tool:post') =>
  events.filter((event) => isEvent(event, type))

function one(
  scene: TestServerBehavior = {},
  more: Partial<TestServer['config']> = {},
): { scene: TestServer; mcp: TroupeOptions['mcp'] } {
  const server = createTestServer(scene)
  return { scene: server, mcp: { servers: { s: { ...server.config, ...more } }, unconfined: true } }
}

test('MC25 a server that an agent brings is for it and those it calls, and for nobody else', async () => {
  const mine = createTestServer(small)
  const agents: Agent[] = [
    agent('boss'),
    agent('bringer', { tools: ['task'], mcp_servers: { mine: mine.config } }),
    agent('heir'),
    agent('stranger'),
    agent('thief', { tools: ['mcp__mine__echo', 'mcp__mine', 'mcp__*', 'mine/*'] }),
  ]
  const play = {
    boss: [asking('bringer'), asking('stranger', 'thief')],
    bringer: [asking('heir')],
    thief: [calling('mcp__mine__echo', { text: 'stolen' })],
  }
  const { troupe, inputs, tools } = await createSetup(play, {
    agents,
    limits: { depth: 3 },
    mcp: { servers: { s: createTestServer(small).config }, unconfined: true },
  })
  const { run_id, status } = await start(troupe)
  const [everyones, own] = ['s', 'mine'].map((name) => [`mcp__${name}__echo`, `mcp__${name}__look`])
  expect(status).toBe('completed')
  expect(await tools(run_id)).toEqual({
    boss: everyones,
    bringer: own,
    heir: own,
    stranger: everyones,
    thief: everyones,
  })
  expect(inputs.thief?.[1]).toContain('unknown_tool')
  expect(mine.log()).not.toContain('call echo')
  expect((await troupe.replay(run_id)).differences).toEqual([])
  const elsewhere = await createTroupe({ store: troupe.store, agents })
  expect((await elsewhere.replay(run_id)).differences).toEqual([])
  expect(mine.pids()).toHaveLength(1)
})

test('MC26 mcp__server, mcp__server__*, server/* and server/tool name tools; exclusions and rules reach them', async () => {
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
  const play = { boss: [asking(...names)], denied: [calling('mcp__s__echo', { text: 'a' })] }
  const { scene, mcp } = one(small)
  const { troupe, inputs, tools } = await createSetup(play, { agents, ...(mcp ? { mcp } : {}) })
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
  expect(scene.log()).not.toContain('call echo')
})

test('MC27 an agent that a model wrote brings no server and starts none', async () => {
  const mine = createTestServer(small)
  const made = agent('made', {
    mcp_servers: { mine: mine.config },
    tools: ['mcp__mine', 'mcp__s'],
    origin: { by: 'model' },
  })
  const boss = agent('boss', { tools: ['task', 'mcp__s__echo'] })
  const options = { agents: [boss, made], mcp: { servers: { s: createTestServer(small).config }, unconfined: true } }
  const { troupe, tools } = await createSetup({ boss: [asking('made')] }, options)
  const { run_id } = await start(troupe)
  expect((await tools(run_id)).made).toEqual(['mcp__s__echo'])
  expect(mine.pids()).toEqual([])
})

test('MC28 a call that hangs is answered after its time limit, and the run goes on', async () => {
  const { mcp, scene } = one({}, { timeout: 500 })
  const play = { boss: [calling('mcp__s__hang'), calling('mcp__s__echo', { text: 'there' })] }
  const { troupe, inputs } = await createSetup(play, { agents: [agent('boss')], ...(mcp ? { mcp } : {}) })
  expect((await start(troupe)).status).toBe('completed')
  expect(inputs.boss?.[1]).toContain('Error (tool_timeout): mcp__s__hang did not return within 500 ms')
  expect(inputs.boss?.[2]).toContain('there')
  expect(scene.pids()).toHaveLength(1)
})

test('MC29 a server that lies costs the run nothing: misfits, broken promises and floods are answers', async () => {
  const never = { type: 'object', properties: { a: { not: {} } }, required: ['a'] }
  const tools = [
    { name: 'refuse', inputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    { name: 'mixed', inputSchema: never },
    { name: 'flood', inputSchema: { type: 'object' }, outputSchema: { type: 'object', required: ['n'] } },
    { name: 'broken', inputSchema: { type: 'object', properties: [] } },
    { name: 'missing', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  ]
  const { mcp } = one({ tools })
  const turns = ['refuse', 'mixed', 'mixed', 'mixed', 'flood', 'missing'].map((name) =>
    calling(`mcp__s__${name}`, { a: 'x' }),
  )
  const { troupe, inputs } = await createSetup({ boss: turns }, { agents: [agent('boss')], ...(mcp ? { mcp } : {}) })
  const { status, run_id } = await start(troupe)
  expect(status).toBe('completed')
  expect(inputs.boss?.[1]).toContain('expected numbers, whatever the schema says')
  for (const turn of [2, 3, 4]) expect(inputs.boss?.[turn]).toContain('do not match its schema')
  expect(inputs.boss?.[5]).toContain('more characters; request a smaller part')
  expect(inputs.boss?.[6]).toContain('no tool missing')
  expect(ends(await troupe.events(run_id), 'tool:error')).toHaveLength(5)
  expect(troupe.mcpServers()[0]?.problems).toEqual([expect.stringContaining("tool 'broken' is skipped")])
})

test('MC30 cancelling ends a call in flight and the run; closing then leaves no process', async () => {
  const { mcp, scene } = one()
  const { troupe } = await createSetup(
    { boss: [calling('mcp__s__hang')] },
    { agents: [agent('boss')], ...(mcp ? { mcp } : {}) },
  )
  const run = await troupe.stream('task', { agent: 'boss', instruction: 'go' })
  await waitUntil(() => scene.log().includes('call hang'))
  expect((await troupe.cancel(run.run_id)).status).toBe('cancelled')
  await waitUntil(() => scene.log().includes('notifications/cancelled'))
  await troupe.close()
  await waitUntil(() => !scene.pids().some(isAlive))
})

test('MC31 cancelling while a server is being started does not wait for it', async () => {
  const { mcp, scene } = one({ hang: ['initialize'] })
  const { troupe } = await createSetup({}, { agents: [agent('boss')], ...(mcp ? { mcp } : {}) })
  const run = await troupe.stream('task', { agent: 'boss', instruction: 'go' })
  await waitUntil(() => scene.log().includes('initialize'))
  expect((await troupe.cancel(run.run_id)).status).toBe('cancelled')
  await troupe.close()
  await waitUntil(() => !scene.pids().some(isAlive))
})

test('MC32 a session keeps its tools when the server has others; later sessions get those', async () => {
  const { mcp } = one()
  const play = { boss: [calling('mcp__s__grow'), asking('later')] }
  const agents = [agent('boss'), agent('later', { tools: ['mcp__s'] })]
  const { troupe, tools } = await createSetup(play, {
    agents,
    ...(mcp ? { mcp } : {}),
    hooks: [afterChange(() => troupe)],
  })
  const { run_id } = await start(troupe)
  const opened = await tools(run_id)
  expect(opened.boss).toContain('mcp__s__put')
  expect(opened.later).toContain('mcp__s__grown')
  expect(opened.later).not.toContain('mcp__s__put')
  expect((await troupe.replay(run_id)).differences).toEqual([])
})

test('MC33 a run goes on without a server that cannot be started, and says why', async () => {
  const warnings: string[] = []
  const listen = (warning: Error) => void warnings.push(warning.message)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const servers = { gone: { command: 'no-such-program-here' }, s: createTestServer(small).config }
  const { troupe, tools } = await createSetup({}, { agents: [agent('boss')], mcp: { servers, unconfined: true } })
  const { run_id, status } = await start(troupe)
  expect(status).toBe('completed')
  expect((await tools(run_id)).boss).toEqual(['mcp__s__echo', 'mcp__s__look'])
  await waitUntil(() => warnings.length > 0)
  expect(warnings).toEqual(["the MCP server 'gone' could not be started: spawn no-such-program-here ENOENT"])
  expect(troupe.mcpServers().map(({ name, state }) => [name, state])).toEqual([
    ['gone', 'idle'],
    ['s', 'ready'],
  ])
})

/** Holds the next delegation back until the registry has followed the server. */
function afterChange(troupe: () => Troupe): NonNullable<TroupeOptions['hooks']>[number] {
  return {
    async beforeTool({ tool }) {
      if (tool === 'task')
        await waitUntil(() =>
          troupe()
            .mcpServers()
            .some(({ tools }) => tools === 14),
        )
      return undefined
    },
  }
}

test('MC44 a session that a person resumes in another run has the servers of those who called it, or is told that they are gone', async () => {
  const mine = createTestServer(small)
  const boss = agent('boss', { tools: ['task'], mcp_servers: { mine: mine.config } })
  const others = [agent('other', { tools: ['task'] }), agent('heir')]
  const mcp = { unconfined: true }
  const first = await createSetup({ boss: [asking('heir')] }, { agents: [boss, ...others], mcp })
  const { run_id } = await start(first.troupe)
  const session_id = (await first.troupe.sessions(run_id)).find((each) => each.agent === 'heir')?.session_id
  expect((await first.tools(run_id)).heir).toContain('mcp__mine__look')
  const { store } = first.troupe
  const look = calling('mcp__mine__look')
  const again: ModelReply = { calls: [{ name: 'task', input: { session_id, instruction: 'on' } }] }

  const known = await createSetup({ other: [again], heir: [look, look] }, { agents: [boss, ...others], mcp, store })
  const resumed = await known.troupe.run('task', { session_id, instruction: 'on' })
  expect(known.inputs.heir?.[1]).toMatch(/pid \d+/)
  expect((await known.troupe.replay(resumed.run_id)).differences).toEqual([])
  expect(mine.pids()).toHaveLength(2)

  const gone = await createSetup({ heir: [look, look, look, look] }, { agents: others, mcp, store })
  await gone.troupe.run('task', { session_id, instruction: 'on' })
  expect(gone.inputs.heir?.[1]).toContain(
    "the tool 'mcp__mine__look' is no longer available: its MCP server is not part of this run",
  )

  const lent = await start(known.troupe, 'other')
  expect((await known.tools(lent.run_id)).heir).not.toContain('mcp__mine__look')
})
