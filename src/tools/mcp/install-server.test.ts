import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMcpHarness, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { temporaryFolder } from '../../../test/support/mcp-test-server.ts'
import { openTestSandbox, SERVER, startRegistry } from '../../../test/support/npm-registry.ts'
import { requireSandbox } from '../../../test/support/require-program.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import type { StdioServerConfig } from './mcp-server-config.ts'
import { parseNpxCommand } from './npx-command.ts'

const npx = (...args: string[]): StdioServerConfig => ({ command: 'npx', args: ['-y', ...args] })

test('MC52 the package of an npx entry is installed once, outside of the project, and its server runs in the sandbox', async () => {
  requireSandbox()
  const registry = await startRegistry()
  const { root, sandbox } = openTestSandbox()
  writeFileSync(join(root, 'project.txt'), 'private')
  const cache = temporaryFolder()
  const env = { ...process.env, XDG_CACHE_HOME: cache, npm_config_registry: `http://${registry.host}/`, MY_KEY: 'k-1' }
  const options = { sandbox, env, unconfined: false }
  const first = createMcpHarness({ tiny: npx('tiny-server', 'an argument') }, options)
  await first.mcp.prepare(TEST_AGENT)
  expect(await first.call('mcp__tiny__echo', { text: 'installed' })).toMatchObject({ output: 'installed' })
  expect(first.warnings.filter((text) => text.includes('npm installs tiny-server into'))).toHaveLength(1)
  expect(first.mcp.status()).toMatchObject([{ state: 'ready', problems: [] }])
  const [name = '', ...others] = readdirSync(join(cache, 'troupe', 'mcp-servers'))
  expect(others).toEqual([])
  const folder = join(cache, 'troupe', 'mcp-servers', name, 'node_modules', 'tiny-server')
  expect(readFileSync(join(folder, 'seen.txt'), 'utf8')).not.toContain('project.txt')
  expect(readFileSync(join(folder, 'env.txt'), 'utf8')).not.toContain('k-1')
  const fetched = registry.requests.length
  const second = createMcpHarness({ tiny: npx('tiny-server') }, options)
  await second.mcp.prepare(TEST_AGENT)
  expect(await second.call('mcp__tiny__echo', { text: 'again' })).toMatchObject({ output: 'again' })
  expect(registry.requests).toHaveLength(fetched)
})

test('MC52 a package that cannot be installed is reported with the reason and what to check; nothing is left', async () => {
  requireSandbox()
  const registry = await startRegistry()
  const { sandbox } = openTestSandbox()
  const cache = temporaryFolder()
  const env = { ...process.env, XDG_CACHE_HOME: cache, npm_config_registry: `http://${registry.host}/` }
  const { mcp, warnings } = createMcpHarness({ gone: npx('no-such-server') }, { sandbox, env, unconfined: false })
  await mcp.prepare(TEST_AGENT)
  expect(warnings.join('\n')).toMatch(
    /npm could not install no-such-server from 127.*404[\s\S]*check the name and version/,
  )
  expect(readdirSync(join(cache, 'troupe', 'mcp-servers'))).toEqual([])
})

test('MC53 an error says which path or network the sandbox keeps from a server, and what to set', async () => {
  requireSandbox()
  const { sandbox } = openTestSandbox()
  const folder = temporaryFolder()
  const file = join(folder, 'server.mjs')
  copyFileSync(SERVER, file)
  const entry = { command: process.execPath, args: [file] }
  const fetching = `fetch('http://registry.invalid').catch((error) => { console.error(error.cause.message); process.exit(1) })`
  const { mcp, warnings } = createMcpHarness(
    {
      hidden: entry,
      shown: { ...entry, sandbox: { read: [folder] } },
      offline: { command: process.execPath, args: ['-e', fetching] },
      absent: { command: 'no-such-program', args: ['x'] },
    },
    { sandbox, unconfined: false },
  )
  await mcp.prepare(TEST_AGENT)
  const warningOf = (name: string) => warnings.find((text) => text.includes(`'${name}' could not be started`)) ?? ''
  expect(warningOf('hidden')).toContain(
    `the sandbox hides ${file}: add "sandbox": { "read": ["${folder}"] } to its entry`,
  )
  expect(warningOf('offline')).toContain('it has no network in the sandbox: add "sandbox": { "hosts": ["HOST"] }')
  expect(warningOf('absent')).toContain("the program 'no-such-program' is not installed on this machine")
  expect(warningOf('shown')).toBe('')
  expect(mcp.tools.has('mcp__shown__echo')).toBe(true)
})

test('MC53 a server writes and reaches what `sandbox` of its entry allows, and nothing else', async () => {
  requireSandbox()
  const registry = await startRegistry()
  const { root, sandbox } = openTestSandbox()
  const [writable, other] = [temporaryFolder(), temporaryFolder()]
  const program = `
    const { writeFileSync } = require('node:fs')
    for (const folder of [${JSON.stringify(writable)}, ${JSON.stringify(other)}])
      try { writeFileSync(folder + '/x', 'x') } catch {}
    require('node:child_process').execFile('curl', ['-s', '-m', '5', 'http://${registry.host}/tiny-server'], (error, out) => {
      writeFileSync('out.txt', String(out)); process.exit(0) })`
  const args = ['-e', program]
  const { mcp } = createMcpHarness(
    { tool: { command: process.execPath, args, sandbox: { write: [writable], hosts: [registry.host] } } },
    { sandbox, unconfined: false },
  )
  await mcp.prepare(TEST_AGENT)
  expect([readdirSync(writable), readdirSync(other)]).toEqual([['x'], []])
  expect(readFileSync(join(root, 'out.txt'), 'utf8')).toContain('"latest":"1.0.0"')
})

test('MC54 an agent file neither extends the sandbox of its server nor fetches packages from a host that is not allowed', async () => {
  requireSandbox()
  const { sandbox } = openTestSandbox()
  const folder = temporaryFolder()
  copyFileSync(SERVER, join(folder, 'server.mjs'))
  const own = { command: process.execPath, args: [join(folder, 'server.mjs')], sandbox: { read: [folder] } }
  const owner = agent('owner', { mcp_servers: { own, fetched: npx('tiny-server') } })
  const { mcp, warnings } = createMcpHarness({}, { sandbox, unconfined: false })
  await mcp.prepare(owner)
  expect(mcp.tools.size).toBe(0)
  expect(warnings.join('\n')).toMatch(/'own': `sandbox` in an agent file is ignored/)
  expect(warnings.join('\n')).toMatch(
    /fetched from registry.npmjs.org, which is not allowed.*--allow-host registry.npmjs.org/,
  )
})

test('npx commands are recognised with packages of the registry and known options only', () => {
  const parse = (...args: string[]) => parseNpxCommand({ command: 'npx', args })
  expect(parse('-y', '@scope/server@1.2.3', '--port', '1')).toEqual({
    packages: ['@scope/server@1.2.3'],
    program: undefined,
    args: ['--port', '1'],
  })
  expect(parse('--yes', '--package=a', '-p', 'b@^2', '--', 'run', '-y')).toEqual({
    packages: ['a', 'b@^2'],
    program: 'run',
    args: ['-y'],
  })
  for (const args of [
    ['-c', 'ls'],
    ['github:a/b'],
    ['./server'],
    ['https://example.com/a.tgz'],
    ['-y'],
    ['a@file:../b'],
  ])
    expect(parse(...args), args.join(' ')).toBeUndefined()
  expect(parseNpxCommand({ command: 'node', args: ['x'] })).toBeUndefined()
})
