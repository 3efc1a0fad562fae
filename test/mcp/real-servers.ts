import { execFileSync, spawn } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { ToolProgress, ToolResult } from '../../src/kernel/tool.ts'
import { toJsonSchema } from '../../src/schema/schema.ts'
import { openWorkspace } from '../../src/tools/files/workspace.ts'
import type { McpServersOptions } from '../../src/tools/mcp/mcp-servers.ts'
import { createMcpServers } from '../../src/tools/mcp/mcp-servers.ts'
import { openSandbox } from '../../src/tools/sandbox/open-sandbox.ts'
import { wallClock } from '../../src/tools/tools.ts'
import { agent } from '../support/test-troupe.ts'

/*
 * Six real MCP servers from npm, in the sandbox. Run with `npm run test:mcp`: it needs the registry, bubblewrap, and Chromium of Debian
 * (`apt-get install chromium`). Versions and checksums are in test/mcp/servers.
 */

const PINNED = fileURLToPath(new URL('./servers', import.meta.url))
const CHROMIUM = '/usr/bin/chromium'
const ANYONE = agent('anyone')

let installed = ''
const table: Record<string, string | number>[] = []

beforeAll(() => {
  installed = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-real-mcp-')))
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(PINNED, file), join(installed, file))
  const npm = realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())
  const args = [npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync(process.execPath, args, { cwd: installed, stdio: 'inherit' })
}, 300_000)

afterAll(() => {
  rmSync(installed, { recursive: true, force: true })
  console.table(table)
})

const program = (name: string) => join(installed, 'node_modules', '.bin', name)
const inSandbox = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [realpathSync(program(name)), ...args],
  sandbox: { read: [installed] },
})

interface RealServer {
  warnings: string[]
  workspace: string
  call(tool: string, input?: unknown, more?: CallOptions): Promise<ToolResult>
}

interface CallOptions {
  signal?: AbortSignal
  progress?: ToolProgress[]
}

type Entry = McpServersOptions['servers'][string]

/** Starts a server as the documentation says and checks what every server has to fulfil. */
async function startServer(name: string, entry: Entry): Promise<RealServer> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-mcp-workspace-')))
  const workspace = openWorkspace(folder)
  const sandbox = openSandbox({ workspace, sandbox: {}, hosts: [] })
  const warnings: string[] = []
  const mcp = createMcpServers({
    servers: { s: entry },
    sandbox,
    workspace,
    world: wallClock,
    env: { ...process.env, PWD: folder },
    limits: { connect_ms: 60_000, list_ms: 60_000 },
    warn: (text) => void warnings.push(text),
  })
  const row = { server: name, tools: 0, 'left out': '', calls: 0, failed: 0, images: 0, progress: 0 }
  table.push(row)
  onTestFinished(async () => {
    await mcp.close()
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await mcp.prepare(ANYONE)
  const skipped = warnings.filter((text) => text.includes('is skipped'))
  row.tools = mcp.tools.size
  row['left out'] = skipped.map((text) => /tool '([^']+)'/.exec(text)?.[1]).join(', ') || '-'
  expect(warnings.filter((text) => !/is skipped|is not ready after|npm installs/.test(text))).toEqual([])
  for (const { input } of mcp.tools.values()) {
    const schema = toJsonSchema(input)
    expect(schema.type).toBe('object')
    for (const keyword of ['oneOf', 'anyOf', 'allOf', '$ref']) expect(schema).not.toHaveProperty(keyword)
    const { required = [], properties = {} } = schema as { required?: string[]; properties?: Record<string, object> }
    for (const property of required) expect(properties[property]).not.toHaveProperty('default')
  }
  return {
    warnings,
    workspace: folder,
    async call(tool, input = {}, { signal = new AbortController().signal, progress = [] } = {}) {
      const reportProgress = (update: ToolProgress) => {
        row.progress += 1
        progress.push(update)
      }
      const found = mcp.tools.get(`mcp__s__${tool}`)
      if (!found) throw new Error(`no tool ${tool}; known: ${[...mcp.tools.keys()].join(', ')}`)
      row.calls += 1
      try {
        const result = await found.execute(input as never, { signal, reportProgress, idempotency_key: tool } as never)
        row.images += result.attachments?.length ?? 0
        return result
      } catch (thrown) {
        row.failed += 1
        throw thrown
      }
    },
  }
}

/** The process of a sandboxed server, by its command line. */
function serverProcess(path: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const found = pids.filter((pid) => {
    try {
      const [command = '', file] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return command === process.execPath && file === path
    } catch {
      return false
    }
  })
  expect(found).toHaveLength(1)
  return Number(found[0])
}

async function checkEverything(server: RealServer): Promise<void> {
  expect(server.warnings.join('\n')).toContain("'simulate-research-query' is skipped: it runs only as a task")
  expect(await server.call('echo', { message: 'hello' })).toMatchObject({ output: 'Echo: hello' })
  expect((await server.call('get-sum', { a: 2, b: 40 })).output).toContain('42')
  const structured = await server.call('get-structured-content', { location: 'New York' })
  expect(structured.output).toEqual({ temperature: 33, conditions: 'Cloudy', humidity: 82 })
  const image = await server.call('get-tiny-image')
  expect(image.attachments).toMatchObject([{ name: 'image-1', media_type: 'image/png' }])
  const progress: ToolProgress[] = []
  const long = await server.call('trigger-long-running-operation', { duration: 2, steps: 4 }, { progress })
  expect(long.output).toContain('completed')
  expect(progress.length).toBeGreaterThanOrEqual(3)
  expect(progress[0]).toMatchObject({ total: 4 })
  await expect(server.call('get-sum', { a: 'two', b: 40 })).rejects.toThrow('a must be number')
  const cancelled = new AbortController()
  const calling = server.call(
    'trigger-long-running-operation',
    { duration: 60, steps: 60 },
    { signal: cancelled.signal },
  )
  setTimeout(() => cancelled.abort(new Error('cancelled by the test')), 1500)
  await expect(calling).rejects.toThrow('cancelled by the test')
  expect(await server.call('echo', { message: 'after the cancellation' })).toMatchObject({ success: true })
}

describe('real MCP servers', () => {
  test('everything over stdio: calls, images, progress, cancellation, crash', async () => {
    const entry = inSandbox('mcp-server-everything', 'stdio')
    const server = await startServer('everything (stdio)', entry)
    await checkEverything(server)
    const calling = server.call('trigger-long-running-operation', { duration: 60, steps: 60 })
    setTimeout(() => process.kill(serverProcess(entry.args[0] ?? ''), 'SIGKILL'), 1500)
    await expect(calling).rejects.toThrow("the MCP server 's' was lost during trigger-long-running-operation")
    expect(await server.call('echo', { message: 'back' })).toMatchObject({ output: 'Echo: back' })
  })

  test('everything over HTTP: the same, and a restarted server', async () => {
    const port = await freePort()
    const start = async () => {
      const env = { ...process.env, PORT: String(port) }
      const args = [realpathSync(program('mcp-server-everything')), 'streamableHttp']
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
      await new Promise<void>((resolve) =>
        child.stderr.on('data', (chunk: Buffer) => chunk.toString().includes('listening') && resolve()),
      )
      onTestFinished(() => void child.kill('SIGKILL'))
      return child
    }
    const first = await start()
    const server = await startServer('everything (http)', { type: 'http', url: `http://127.0.0.1:${port}/mcp` })
    await checkEverything(server)
    const calling = server.call('trigger-long-running-operation', { duration: 60, steps: 60 })
    setTimeout(() => first.kill('SIGKILL'), 1500)
    await expect(calling).rejects.toThrow('was lost during trigger-long-running-operation')
    await start()
    expect(await server.call('echo', { message: 'back' })).toMatchObject({ output: 'Echo: back' })
  })

  test('filesystem: text once, images, only the workspace', async () => {
    const server = await startServer('filesystem', inSandbox('mcp-server-filesystem', '.'))
    const path = (name: string) => join(server.workspace, name)
    await server.call('write_file', { path: path('note.txt'), content: 'the blue one' })
    expect((await server.call('read_text_file', { path: path('note.txt') })).output).toBe('the blue one')
    expect((await server.call('list_directory', { path: server.workspace })).output).toMatch(/^(?!.*"content")/s)
    writeFileSync(path('dot.png'), Buffer.from(DOT, 'base64'))
    const media = await server.call('read_media_file', { path: path('dot.png') })
    expect(media.attachments).toEqual([{ name: 'image-1', media_type: 'image/png', data: DOT }])
    mkdirSync(path('many'))
    for (let index = 0; index < 2500; index++) writeFileSync(path(`many/${'x'.repeat(60)}${index}`), '')
    const listing = String((await server.call('list_directory', { path: path('many') })).output)
    expect(listing.length).toBeLessThan(101_000)
    const [, file = ''] = /read the rest with Read: ([^\]]+)\]$/.exec(listing) ?? []
    expect(readFileSync(path(file), 'utf8').split('\n')).toHaveLength(2500)
    expect(await server.call('read_text_file', { path: '/etc/passwd' })).toMatchObject({
      success: false,
      error: expect.stringContaining('Access denied'),
    })
  })

  test('memory: keeps a graph in a file of the workspace', async () => {
    const entry = inSandbox('mcp-server-memory')
    const server = await startServer('memory', { ...entry, env: { MEMORY_FILE_PATH: `\${PWD}/memory.jsonl` } })
    const entities = [{ name: 'Ann', entityType: 'person', observations: ['likes tea'] }]
    expect(String((await server.call('create_entities', { entities })).output).match(/likes tea/g)).toHaveLength(1)
    expect((await server.call('read_graph')).output).toMatchObject({ entities: [{ name: 'Ann' }] })
  })

  test('sequential thinking: started as `npx -y PACKAGE`', async () => {
    const cache = mkdtempSync(join(tmpdir(), 'troupe-mcp-cache-'))
    process.env.XDG_CACHE_HOME = cache
    onTestFinished(() => {
      delete process.env.XDG_CACHE_HOME
      rmSync(cache, { recursive: true, force: true })
    })
    const args = ['-y', '@modelcontextprotocol/server-sequential-thinking@2026.8.31']
    const server = await startServer('sequential-thinking (npx)', { command: 'npx', args })
    const thought = { thought: 'First.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
    expect((await server.call('sequentialthinking', thought)).output).toMatchObject({ thoughtHistoryLength: 1 })
  })

  test('playwright: opens a page and takes a screenshot', async () => {
    const options = ['--headless', '--isolated', '--no-sandbox', '--executable-path', CHROMIUM]
    const entry = inSandbox('playwright-mcp', ...options)
    const sandbox = { read: [installed, '/etc/chromium.d'], hosts: ['example.com'] }
    const server = await startServer('playwright', { ...entry, sandbox })
    const opened = await server.call('browser_navigate', { url: 'data:text/html,<title>Hi</title><h1>Hello</h1>' })
    expect(opened).toMatchObject({ success: true, output: expect.stringContaining('Page URL: data:text/html') })
    expect((await server.call('browser_snapshot')).output).toContain('Hello')
    const screenshot = await server.call('browser_take_screenshot')
    expect(screenshot.attachments).toMatchObject([{ media_type: 'image/png' }])
    await server.call('browser_close')
  })
})

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
