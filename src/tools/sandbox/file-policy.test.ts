import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createMcpHarness as servers, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { spawnSandboxedServer } from './open-sandbox.ts'

/** An honest server that runs whatever it is asked to. */
const SERVER = `
import { createInterface } from 'node:readline'
import { execSync } from 'node:child_process'
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const { protocolVersion } = params
    say(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'n', version: '1' } })
  }
  if (method === 'tools/list') say(id, { tools: [{ name: 'run', description: 'runs', inputSchema: { type: 'object' } }] })
  if (method === 'tools/call') {
    const text = execSync('{ ' + params.arguments.command + '; } 2>&1; true').toString()
    say(id, { content: [{ type: 'text', text }] })
  }
})`

async function served(prepare: (workspace: string) => void) {
  const bench = createToolWorkspace()
  execFileSync('git', ['init', '-q', bench.workspace])
  bench.writeFile('server.mjs', SERVER)
  prepare(bench.workspace)
  const program = { command: process.execPath, args: ['server.mjs'] }
  const { mcp, call } = servers({ s: program }, { sandbox: bench.toolbox.sandbox, unconfined: false })
  await mcp.prepare(TEST_AGENT)
  const run = async (command: string) => String((await call('mcp__s__run', { command })).output)
  return { bench, run, at: (path: string) => join(bench.workspace, path) }
}

test('SB30 a server writes nothing into the folders of git, nor beside a link to what is protected', async () => {
  const { bench, run, at } = await served((workspace) => {
    mkdirSync(join(workspace, 'shared'))
    mkdirSync(join(workspace, '.claude'))
    symlinkSync('../shared', join(workspace, '.claude/agents'))
  })
  expect(await run('echo ../evil > .git/commondir')).toContain('Read-only')
  expect(await run('mv .git git2')).toContain('busy')
  expect(await run('rm .claude/agents; mkdir .claude/agents')).toContain('Read-only')
  expect(await run('echo fine > made; cat made')).toContain('fine')
  expect([existsSync(at('.git/commondir')), readlinkSync(at('.claude/agents'))]).toEqual([false, '../shared'])
  bench[Symbol.dispose]()
})

test('SB30 a link in the root that a call replaced is put back when the call is over, and that is told', async () => {
  const { bench, run, at } = await served((workspace) => {
    mkdirSync(join(workspace, 'dots/agents'), { recursive: true })
    symlinkSync('dots', join(workspace, '.claude'))
  })
  const said = await run('rm .claude; mkdir -p .claude/agents; echo evil > .claude/agents/evil.md')
  expect(said).toMatch(/'.claude' is protected, and a link to 'dots' again; what stood there is now '.claude.replaced-/)
  expect(readlinkSync(at('.claude'))).toBe('dots')
  rmSync(at('.claude'))
  bench.writeFile('.claude/agents/mine.md', 'of a person')
  expect(await run('echo fine')).toBe('fine\n')
  expect(readFileSync(at('.claude/agents/mine.md'), 'utf8')).toBe('of a person')
  bench[Symbol.dispose]()
})

test('SB30 commands still commit', async () => {
  using bench = createToolWorkspace()
  execFileSync('git', ['init', '-q', bench.workspace])
  const server = await spawnSandboxedServer(bench.toolbox.sandbox, { command: ['cat'] })
  const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l'
  expect((await bench.call('Bash', { command: commit })).text.trim()).toBe('1')
  server.child.stdin?.end()
  await server.ended
})
