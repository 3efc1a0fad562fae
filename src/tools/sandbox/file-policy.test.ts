import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createMcpHarness, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { spawnSandboxedServer } from './open-sandbox.ts'

/** An MCP server that runs any command. */
const SERVER = `
import { createInterface } from 'node:readline'
import { execSync } from 'node:child_process'
const respond = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const { protocolVersion } = params
    respond(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'n', version: '1' } })
  }
  if (method === 'tools/list') respond(id, { tools: [{ name: 'run', description: 'runs', inputSchema: { type: 'object' } }] })
  if (method === 'tools/call') {
    const text = execSync('{ ' + params.arguments.command + '; } 2>&1; true').toString()
    respond(id, { content: [{ type: 'text', text }] })
  }
})`

async function startServer(prepare: (workspace: string) => void) {
  const fixture = createToolWorkspace()
  execFileSync('git', ['init', '-q', fixture.workspace])
  fixture.writeFile('server.mjs', SERVER)
  prepare(fixture.workspace)
  const config = { command: process.execPath, args: ['server.mjs'] }
  const { mcp, call } = createMcpHarness({ s: config }, { sandbox: fixture.toolbox.sandbox, unconfined: false })
  await mcp.prepare(TEST_AGENT)
  const run = async (command: string) => String((await call('mcp__s__run', { command })).output)
  return { fixture, run, inWorkspace: (path: string) => join(fixture.workspace, path) }
}

test('SB30 a server cannot write to git folders or to folders with a symlink to a protected path', async () => {
  const { fixture, run, inWorkspace } = await startServer((workspace) => {
    mkdirSync(join(workspace, 'shared'))
    mkdirSync(join(workspace, '.claude'))
    symlinkSync('../shared', join(workspace, '.claude/agents'))
  })
  expect(await run('echo ../evil > .git/commondir')).toContain('Read-only')
  expect(await run('mv .git git2')).toContain('busy')
  expect(await run('rm .claude/agents; mkdir .claude/agents')).toContain('Read-only')
  expect(await run('echo fine > made; cat made')).toContain('fine')
  expect([existsSync(inWorkspace('.git/commondir')), readlinkSync(inWorkspace('.claude/agents'))]).toEqual([
    false,
    '../shared',
  ])
  fixture[Symbol.dispose]()
})

test('SB30 a symlink in the root that a call replaced is restored after the call and reported', async () => {
  const { fixture, run, inWorkspace } = await startServer((workspace) => {
    mkdirSync(join(workspace, 'dots/agents'), { recursive: true })
    symlinkSync('dots', join(workspace, '.claude'))
  })
  const output = await run('rm .claude; mkdir -p .claude/agents; echo evil > .claude/agents/evil.md')
  expect(output).toMatch(
    /'.claude' is protected and was restored as a symlink to 'dots'; its replacement was renamed to '.claude.replaced-/,
  )
  expect(readlinkSync(inWorkspace('.claude'))).toBe('dots')
  rmSync(inWorkspace('.claude'))
  fixture.writeFile('.claude/agents/mine.md', 'written by a person')
  expect(await run('echo fine')).toBe('fine\n')
  expect(readFileSync(inWorkspace('.claude/agents/mine.md'), 'utf8')).toBe('written by a person')
  fixture[Symbol.dispose]()
})

test('SB30 commands can still commit while a server runs', async () => {
  using fixture = createToolWorkspace()
  execFileSync('git', ['init', '-q', fixture.workspace])
  const server = await spawnSandboxedServer(fixture.toolbox.sandbox, { command: ['cat'] })
  const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l'
  expect((await fixture.call('Bash', { command: commit })).text.trim()).toBe('1')
  server.child.stdin?.end()
  await server.ended
})
