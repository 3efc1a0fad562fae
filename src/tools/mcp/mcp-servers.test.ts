import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMcpHarness, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { createTestServer, isAlive, temporaryFolder, waitUntil } from '../../../test/support/mcp-test-server.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import { openWorkspace } from '../files/workspace.ts'
import { limitResult } from './long-result.ts'
import { toolResultFromMcp } from './mcp-result.ts'
import type { McpServers } from './mcp-servers.ts'

const kinds = ({ tools }: McpServers) => Object.fromEntries([...tools.values()].map(({ name, kind }) => [name, kind]))

test('MC1 a server is started on demand, and once for several sessions', async () => {
  const server = createTestServer()
  const { mcp, call } = createMcpHarness({ s: server.config })
  expect(mcp.status()).toMatchObject([{ name: 's', state: 'idle', tools: 0 }])
  expect(mcp.prepare(agent('reader', { tools: ['Read'] }))).toBeUndefined()
  expect(server.pids()).toEqual([])
  await Promise.all([mcp.prepare(TEST_AGENT), mcp.prepare(agent('other', { tools: ['mcp__s__echo'] }))])
  expect(mcp.prepare(TEST_AGENT)).toBeUndefined()
  await Promise.all([call('mcp__s__look'), call('mcp__s__echo', { text: 'a' })])
  expect(server.pids()).toHaveLength(1)
  expect(mcp.status()).toMatchObject([{ name: 's', state: 'ready', tools: 14 }])
})

test('MC2 the kind of a tool follows the annotations of a trusted server; without or with contradictory ones it acts', async () => {
  const { mcp } = createMcpHarness({ s: { ...createTestServer().config, trust: true } })
  await mcp.prepare(TEST_AGENT)
  expect(kinds(mcp)).toMatchObject({
    mcp__s__look: 'read',
    mcp__s__put: 'idempotent',
    mcp__s__echo: 'act',
    mcp__s__pretend: 'act',
  })
  expect(mcp.tools.get('mcp__s__look')?.category).toBe('perception')
  expect(mcp.tools.get('mcp__s__put')?.category).toBe('action')
})

test('MC45 readOnlyHint is trusted only for servers with trust: true', async () => {
  const { config } = createTestServer()
  const trusted = { ...config, trust: true }
  const { mcp } = createMcpHarness({ plain: config, known: trusted })
  const owner = agent('owner', { mcp_servers: { own: trusted, known: config } })
  await Promise.all([mcp.prepare(TEST_AGENT), mcp.prepare(owner)])
  expect(kinds(mcp)).toMatchObject({
    mcp__plain__look: 'idempotent',
    mcp__own__look: 'idempotent',
    mcp__own__pretend: 'act',
    mcp__known__look: 'read',
  })
  expect(mcp.tools.get('mcp__own__look')?.category).toBe('action')
})

test('MC3 a result is its text, structured content that the text lacks, and a description of other content', async () => {
  const { mcp, call } = createMcpHarness({ s: createTestServer({ noise: true }).config })
  await mcp.prepare(TEST_AGENT)
  expect(await call('mcp__s__echo', { text: 'hello' })).toEqual({ success: true, output: 'hello' })
  const { success, output } = await call('mcp__s__mixed')
  expect(success).toBe(true)
  expect(String(output).split('\n')).toEqual([
    'see',
    '[image: image/png, 3 bytes, not shown]',
    '[a://b]',
    'inside',
    '{"type":"hologram","depth":3}',
    '7',
    '{"promised":"a number","given":"text"}',
  ])
})

test('MC3 structured content that the text repeats arrives once', async () => {
  const text = 'a "quoted" line\nand 33 more'
  const graph = { entities: [{ name: text, count: 33, fresh: true }] }
  for (const [result, output] of [
    [{ text, structured: { content: text } }, text],
    [{ text: JSON.stringify(graph, undefined, 2), structured: graph }, graph],
    [{ text: JSON.stringify(graph.entities), structured: graph }, JSON.stringify(graph.entities)],
    [{ text: '', structured: graph }, graph],
    [{ text: 'It is 33 °C and cloudy.', structured: { degrees: 33, sky: 'cloudy' } }, 'It is 33 °C and cloudy.'],
    [{ text: '133 found', structured: { count: 33 } }, '133 found\n{"count":33}'],
  ] as const) {
    const content = [{ type: 'text', text: result.text }]
    expect(toolResultFromMcp({ content, structuredContent: result.structured })).toEqual({ success: true, output })
  }
})

test('MC51 images of a result are attached; data of another kind, or too large, is described', () => {
  const block = (data: string, mimeType = 'image/png') => ({ type: 'image', data, mimeType })
  const png = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1').toString('base64')
  const large = Buffer.concat([Buffer.from(png, 'base64'), Buffer.alloc(5 * 1024 * 1024)]).toString('base64')
  const resource = { type: 'resource', resource: { uri: 'a://b.png', blob: png } }
  const { output, attachments } = toolResultFromMcp({
    content: [block(png, 'image/jpeg'), block('bm90IGFuIGltYWdl'), block(large), resource],
  })
  expect(String(output).split('\n')).toEqual([
    '[image: image/jpeg, 17 bytes, attached as image-1]',
    '[image: image/png, 12 bytes, not shown]',
    expect.stringContaining('not shown: too large'),
    '[a://b.png: unknown type, 17 bytes, attached as image-2]',
  ])
  expect(attachments).toEqual([
    { name: 'image-1', media_type: 'image/png', data: png },
    { name: 'image-2', media_type: 'image/png', data: png },
  ])
})

test('MC4 a tool with an invalid name or schema is reported and skipped; the others work', async () => {
  const fine = { type: 'object', properties: {} }
  const tools = [
    { name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
    { name: 'no_schema' },
    { name: 'research', inputSchema: fine, execution: { taskSupport: 'required' } },
    { name: 'unknown_type', inputSchema: { type: 'object', properties: { a: { type: 'strng' } } } },
    { name: 'no_object', inputSchema: { type: 'string' } },
    { name: 'huge', inputSchema: { ...fine, description: 'x'.repeat(70_000) } },
    { name: 'a/b', inputSchema: fine },
    { name: 'x'.repeat(80), inputSchema: fine },
    { name: 'echo', inputSchema: fine },
    { inputSchema: fine },
    'a word',
    { name: 'loose', description: 7, annotations: 'none', inputSchema: { properties: { a: {} } } },
  ]
  const { mcp, warnings, call } = createMcpHarness({ s: createTestServer({ tools }).config })
  await mcp.prepare(TEST_AGENT)
  expect([...mcp.tools.keys()]).toEqual(['mcp__s__echo', 'mcp__s__loose'])
  expect(await call('mcp__s__echo', { text: 'still here' })).toMatchObject({ output: 'still here' })
  expect(warnings).toHaveLength(10)
  for (const text of [
    "'no_schema' is skipped: it has no `inputSchema`",
    "'research' is skipped: it runs only as a task",
    "'unknown_type'",
    'not "string"',
    '70',
    "'a/b'",
    'too long',
    'twice',
    'no `name`',
  ]) {
    expect(warnings.some((problem) => problem.includes(text) && problem.startsWith("MCP server 's'"))).toBe(true)
  }
})

test('MC5 invalid arguments are not sent, and regular expressions of a schema are not executed', async () => {
  const evil = { type: 'string', pattern: '^(a+)+$', format: 'nonsense' }
  const properties = { pattern: evil, n: { type: 'integer' } }
  const inputSchema = { type: 'object', properties, required: ['pattern'], additionalProperties: false }
  const server = createTestServer({
    tools: [
      { name: 'echo', inputSchema },
      { name: 'refuse', inputSchema: { type: 'object' } },
    ],
  })
  const { mcp, call } = createMcpHarness({ s: server.config })
  await mcp.prepare(TEST_AGENT)
  await expect(call('mcp__s__echo', {})).rejects.toThrow(/do not match its schema: .*pattern/)
  await expect(call('mcp__s__echo', { pattern: 'a', n: 'x' })).rejects.toThrow('n must be integer')
  expect(server.log()).not.toContain('call echo')
  await call('mcp__s__echo', { pattern: `${'a'.repeat(40)}!` })
  expect(server.log()).toContain('call echo')
  const failed = await call('mcp__s__refuse', null)
  expect(failed).toEqual({ success: false, error: 'expected numbers, whatever the schema says' })
})

test('MC6 a server that is lost during a call is restarted by the next call', async () => {
  const server = createTestServer()
  const { mcp, call } = createMcpHarness({ s: server.config })
  await mcp.prepare(TEST_AGENT)
  const calling = call('mcp__s__hang')
  await waitUntil(() => server.log().includes('call hang'))
  process.kill(server.pids()[0] ?? 0, 'SIGKILL')
  await expect(calling).rejects.toMatchObject({
    code: 'tool_failed',
    message: "the MCP server 's' was lost during hang: signal SIGKILL",
    hint: expect.stringMatching(/may or may not have taken effect.*next call restarts the server/),
  })
  expect(await call('mcp__s__echo', { text: 'back' })).toMatchObject({ output: 'back' })
  expect(server.pids()).toHaveLength(2)
})

test('MC7 a server that is lost twice is not restarted, and its tools say what to do', async () => {
  const server = createTestServer()
  const { mcp, call } = createMcpHarness({ s: server.config })
  await mcp.prepare(TEST_AGENT)
  await expect(call('mcp__s__die')).rejects.toThrow('exit code 3')
  await expect(call('mcp__s__die')).rejects.toMatchObject({
    hint: expect.stringContaining('continue without its tools'),
  })
  await expect(call('mcp__s__echo', { text: 'a' })).rejects.toMatchObject({
    message: expect.stringContaining("the MCP server 's' failed twice and is not restarted"),
    hint: expect.stringContaining('continue without its tools'),
    retry: false,
  })
  expect(server.pids()).toHaveLength(2)
  expect(mcp.prepare(TEST_AGENT)).toBeUndefined()
  expect(mcp.status()).toMatchObject([{ state: 'lost', tools: 14 }])
})

test('MC8 a server that exceeds the timeout for starting or listing is killed and reported', async () => {
  const silent = createTestServer({ hang: ['initialize'] })
  const slow = createTestServer({ hang: ['tools/list'] })
  const gone = { command: '/nowhere/no-such-program' }
  const starting = createMcpHarness({ silent: silent.config, gone }, { limits: { connect_ms: 400 } })
  const listing = createMcpHarness({ slow: slow.config }, { limits: { list_ms: 100 } })
  await Promise.all([starting, listing].map(({ mcp }) => mcp.prepare(TEST_AGENT)))
  expect([...starting.warnings, ...listing.warnings].toSorted()).toEqual([
    "the MCP server 'gone' could not be started: spawn /nowhere/no-such-program ENOENT",
    "the MCP server 'silent' could not be started: it did not start within 400 ms",
    "the MCP server 'slow' could not be started: it did not list its tools within 100 ms",
  ])
  expect(listing.mcp.tools.size).toBe(0)
  await waitUntil(() => ![...silent.pids(), ...slow.pids()].some(isAlive))
})

test('MC9 an abort ends a call at once and notifies the server; the connection stays open', async () => {
  const server = createTestServer()
  const { mcp, call } = createMcpHarness({ s: server.config })
  await mcp.prepare(TEST_AGENT)
  const abort = new AbortController()
  const calling = call('mcp__s__hang', {}, abort.signal)
  await waitUntil(() => server.log().includes('call hang'))
  abort.abort(new Error('aborted by the test'))
  await expect(calling).rejects.toThrow('aborted by the test')
  await waitUntil(() => server.log().includes('notifications/cancelled'))
  expect(await call('mcp__s__echo', { text: 'still there' })).toMatchObject({ output: 'still there' })
  expect(server.pids()).toHaveLength(1)
})

test('MC10 closing kills servers that ignore signals, their children, and servers that are starting', async () => {
  const stubborn = createTestServer({ ignoreEnd: true })
  const silent = createTestServer({ hang: ['initialize'] })
  const { mcp, call, warnings } = createMcpHarness({ stubborn: stubborn.config, silent: silent.config })
  const preparing = mcp.prepare(TEST_AGENT)
  await waitUntil(() => mcp.tools.has('mcp__stubborn__helper') && silent.log().includes('initialize'))
  const { output } = await call('mcp__stubborn__helper')
  const pids = [...stubborn.pids(), ...silent.pids(), Number(String(output).slice(4))]
  expect(pids.map(isAlive)).toEqual([true, true, true])
  await mcp.close()
  await preparing
  await waitUntil(() => !pids.some(isAlive))
  expect(stubborn.log()).toContain('SIGTERM')
  expect(mcp.prepare(TEST_AGENT)).toBeUndefined()
  await expect(call('mcp__stubborn__look')).rejects.toThrow('was closed')
  expect(warnings).toEqual([])
})

test('MC11 tools/list_changed updates the tool registry', async () => {
  const { mcp, call } = createMcpHarness({ s: createTestServer().config })
  await mcp.prepare(TEST_AGENT)
  expect(mcp.tools.has('mcp__s__grown')).toBe(false)
  await call('mcp__s__grow')
  await waitUntil(() => mcp.tools.has('mcp__s__grown'))
  expect(mcp.tools.has('mcp__s__put')).toBe(false)
})

test('MC17 a server whose message exceeds the size limit is killed', async () => {
  const server = createTestServer()
  const { mcp, call } = createMcpHarness({ s: server.config })
  await mcp.prepare(TEST_AGENT)
  await expect(call('mcp__s__torrent')).rejects.toThrow(/lost during torrent: .*(size|exceed)/i)
  expect(await call('mcp__s__echo', { text: 'anew' })).toMatchObject({ output: 'anew' })
  expect(isAlive(server.pids()[0] ?? 0)).toBe(false)
})

test('MC55 a call asks for progress and passes it on', async () => {
  const { mcp } = createMcpHarness({ s: createTestServer().config })
  await mcp.prepare(TEST_AGENT)
  const tool = mcp.tools.get('mcp__s__work')
  expect(tool).toMatchObject({ timeout_ms: 120_000, max_timeout_ms: 3_600_000 })
  const reported: unknown[] = []
  const call = { signal: new AbortController().signal, reportProgress: (update: unknown) => reported.push(update) }
  expect(await tool?.execute({ steps: 20 } as never, call as never)).toMatchObject({ output: '20 steps' })
  expect(reported[0]).toEqual({ progress: 1, total: 20, message: 'step 1' })
})

test('MC56 of a long result about 25,000 tokens go to the model, and the whole is in a file that Read can open', async () => {
  const workspace = openWorkspace(temporaryFolder())
  const { mcp, call } = createMcpHarness({ s: createTestServer().config }, { workspace })
  await mcp.prepare(TEST_AGENT)
  const output = String((await call('mcp__s__flood')).output)
  expect(output.length).toBeLessThan(100_200)
  const [, path = ''] =
    /\[the first 100000 of 400000 characters; read the rest with Read: (\.troupe\/[^\]]+)\]$/.exec(output) ?? []
  const kept = readFileSync(join(workspace.realPath, path), 'utf8')
  expect(kept.replaceAll('\n', '')).toBe('x'.repeat(400_000))
  expect(Math.max(...kept.split('\n').map(({ length }) => length))).toBeLessThan(2000)
})

test('MC56 without a workspace a long result says that the rest is missing, and splits no character', async () => {
  const result = await limitResult({ success: true, output: '€'.repeat(50_000) }, { idempotency_key: 'k' }, undefined)
  expect(result.output).toBe(`${'€'.repeat(33_333)}\n[the first 33333 of 50000 characters; request a smaller part]`)
})
