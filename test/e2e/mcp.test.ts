import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { Event, Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe, isEvent } from '../../src/index.ts'
import { openWorkspace } from '../../src/tools/files/workspace.ts'
import { openSandbox } from '../../src/tools/sandbox/open-sandbox.ts'
import { isAlive, temporaryFolder, waitUntil } from '../support/mcp-test-server.ts'
import { requireSandbox } from '../support/require-program.ts'
import type { ModelReply } from '../support/test-troupe.ts'
import { agent, functionModel, lastMessageText } from '../support/test-troupe.ts'

/* Runs with the reference MCP servers from npm. */

const MODULES = realpathSync(fileURLToPath(new URL('../../node_modules', import.meta.url)))
const FILES = join(MODULES, '@modelcontextprotocol/server-filesystem/dist/index.js')
const EVERYTHING = join(MODULES, '@modelcontextprotocol/server-everything/dist/index.js')

type Turns = readonly (ModelReply | ((input: string) => ModelReply | Promise<ModelReply>))[]

/** Creates a troupe whose model replies by turn; `inputs` records the last message of each request. */
async function createTroupeWithReplies(turns: Turns, options: TroupeOptions): Promise<Troupe & { inputs: string[] }> {
  const inputs: string[] = []
  const model = functionModel((request) => {
    inputs.push(lastMessageText(request))
    const next = turns[request.session.turn - 1] ?? { text: 'done' }
    return typeof next === 'function' ? next(inputs.at(-1) ?? '') : next
  })
  const troupe = await createTroupe({ store: 'memory', model, ...options })
  onTestFinished(() => troupe.close())
  return Object.assign(troupe, { inputs })
}

const callTool = (name: string, input: unknown = {}): ModelReply => ({ calls: [{ name, input }] })
const toolNames = (events: readonly Event[]) =>
  events.flatMap((event) => (isEvent(event, 'session:open') ? event.data.tools : []))

/** A server that writes its process id to a file, so that the test can kill it. */
function killableServer(
  server: string,
  ...args: string[]
): { config: { command: string; args: string[] }; pid(): number } {
  const file = join(temporaryFolder(), 'pid')
  const script = 'echo $$ > "$0"; exec "$@"'
  return {
    config: { command: 'sh', args: ['-c', script, file, process.execPath, server, ...args] },
    pid: () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0),
  }
}

test('MC10 an agent uses a real server over stdio, and closing the troupe ends its process', async () => {
  const folder = realpathSync(temporaryFolder())
  writeFileSync(join(folder, 'note.txt'), 'the blue one')
  const files = killableServer(FILES, folder)
  const troupe = await createTroupeWithReplies(
    [
      callTool('mcp__files__read_text_file', { path: join(folder, 'note.txt') }),
      (input) => callTool('mcp__files__write_file', { path: join(folder, 'answer.txt'), content: input }),
      callTool('mcp__files__read_text_file', { path: '/etc/hostname' }),
    ],
    { agents: [agent('worker')], mcp: { servers: { files: { ...files.config, trust: true } }, unconfined: true } },
  )
  const result = await troupe.run('task', { agent: 'worker', instruction: 'copy the note' })
  expect(result.status).toBe('completed')
  expect(readFileSync(join(folder, 'answer.txt'), 'utf8')).toContain('the blue one')
  expect(troupe.inputs.at(-1)).toContain('Access denied')
  const pre = (await troupe.events(result.run_id).all()).flatMap((event) =>
    isEvent(event, 'tool:pre') ? event.data : [],
  )
  expect(pre.map(({ tool, kind }) => [tool, kind])).toEqual([
    ['mcp__files__read_text_file', 'read'],
    ['mcp__files__write_file', 'idempotent'],
    ['mcp__files__read_text_file', 'read'],
  ])
  expect(troupe.mcpServers()).toMatchObject([{ name: 'files', state: 'ready', tools: 14 }])
  expect(isAlive(files.pid())).toBe(true)
  await troupe.close()
  await waitUntil(() => !isAlive(files.pid()))
})

test('MC6 when a server is killed during a call, the model gets an error and the next call restarts it', async () => {
  const server = killableServer(EVERYTHING, 'stdio')
  const troupe = await createTroupeWithReplies(
    [
      callTool('mcp__all__trigger-long-running-operation', { duration: 60, steps: 60 }),
      callTool('mcp__all__echo', { message: 'are you back?' }),
    ],
    { agents: [agent('worker', { tools: ['mcp__all'] })], mcp: { servers: { all: server.config }, unconfined: true } },
  )
  const run = await troupe.stream('task', { agent: 'worker', instruction: 'start' })
  const first = await waitForToolCall(run)
  const pid = server.pid()
  process.kill(pid, 'SIGKILL')
  const result = await run.result
  expect(first).toBe('mcp__all__trigger-long-running-operation')
  expect(result.status).toBe('completed')
  expect(troupe.inputs[1]).toContain("the MCP server 'all' was lost during trigger-long-running-operation")
  expect(troupe.inputs[1]).toContain('the next call restarts the server')
  expect(troupe.inputs[2]).toContain('are you back?')
  expect(server.pid()).not.toBe(pid)
})

test('MC6 an agent uses a real server over HTTP, even after it was restarted', async () => {
  const port = await freePort()
  const server = await startHttpServer(port)
  const replaced = Promise.withResolvers<void>()
  process.env.TROUPE_TEST_TOKEN = 'tok-123456'
  onTestFinished(() => void delete process.env.TROUPE_TEST_TOKEN)
  const headers = { Authorization: `Bearer \${TROUPE_TEST_TOKEN}` }
  const all = { type: 'http' as const, url: `http://127.0.0.1:${port}/mcp`, headers }
  const troupe = await createTroupeWithReplies(
    [
      callTool('mcp__all__get-sum', { a: 2, b: 40 }),
      callTool('mcp__all__trigger-long-running-operation', { duration: 60, steps: 2 }),
      () => replaced.promise.then(() => callTool('mcp__all__echo', { message: 'still the same?' })),
    ],
    { agents: [agent('worker')], mcp: { servers: { all } } },
  )
  const run = await troupe.stream('task', { agent: 'worker', instruction: 'count' })
  await waitForToolCall(run, 'mcp__all__trigger-long-running-operation')
  server.kill('SIGKILL')
  await new Promise((resolve) => server.once('exit', resolve))
  await startHttpServer(port)
  replaced.resolve()
  const result = await run.result
  expect(troupe.inputs[1]).toContain('42')
  expect(troupe.inputs[2]).toContain("the MCP server 'all' was lost during trigger-long-running-operation")
  expect(troupe.inputs[3]).toContain('still the same?')
  expect(result.status).toBe('completed')
  expect(JSON.stringify([await troupe.events(result.run_id).all(), troupe.mcpServers()])).not.toContain('tok-123456')
})

test('SB15 a sandboxed server can access only the workspace', async () => {
  requireSandbox()
  const root = realpathSync(temporaryFolder())
  const [inside, outside] = [join(root, 'inside'), join(root, 'outside')]
  for (const folder of [inside, outside]) {
    mkdirSync(folder)
    writeFileSync(join(folder, 'note.txt'), 'words')
  }
  const workspace = openWorkspace(inside)
  const sandbox = openSandbox({ workspace, sandbox: { read: [MODULES] }, hosts: [] })
  const files = { command: process.execPath, args: [FILES, inside, '/'] }
  const list = (path: string) => callTool('mcp__files__list_directory', { path })
  const turns = [
    list(inside),
    list(outside),
    callTool('mcp__files__write_file', { path: join(inside, 'b'), content: 'b' }),
  ]
  const troupe = await createTroupeWithReplies(turns, {
    agents: [agent('worker')],
    mcp: { servers: { files }, sandbox },
  })
  await troupe.run('task', { agent: 'worker', instruction: 'look around' })
  expect(troupe.inputs[1]).toContain('note.txt')
  expect(troupe.inputs[2]).toMatch(/ENOENT|EACCES/)
  expect(readFileSync(join(inside, 'b'), 'utf8')).toBe('b')
})

test('MC24 tools have a stable order, whichever server started first', async () => {
  const folder = realpathSync(temporaryFolder())
  const servers = {
    z: { command: process.execPath, args: [FILES, folder] },
    a: { command: process.execPath, args: [EVERYTHING] },
  }
  const troupe = await createTroupeWithReplies([], { agents: [agent('worker')], mcp: { servers, unconfined: true } })
  const { run_id } = await troupe.run('task', { agent: 'worker', instruction: 'hello' })
  const names = toolNames(await troupe.events(run_id).all()).filter((name) => name.startsWith('mcp__'))
  expect(names).toEqual(names.toSorted())
  expect(names).toHaveLength(26)
})

/** Waits until the run starts a tool call. */
async function waitForToolCall(run: AsyncIterable<unknown>, tool?: string): Promise<string> {
  for await (const signal of run) {
    const { event } = signal as { event?: Event }
    if (event && isEvent(event, 'tool:pre') && (tool === undefined || event.data.tool === tool)) return event.data.tool
  }
  throw new Error('the run ended without the tool call')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

async function startHttpServer(port: number): Promise<ChildProcess> {
  const env = { PATH: process.env.PATH, PORT: String(port) }
  const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => chunk.toString().includes('listening') && resolve())
    child.once('exit', () => reject(new Error('the server did not start')))
  })
  return child
}
