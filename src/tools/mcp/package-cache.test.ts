import { chmodSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMcpHarness, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { temporaryFolder } from '../../../test/support/mcp-test-server.ts'
import { openTestSandbox, startRegistry } from '../../../test/support/npm-registry.ts'
import { requireSandbox } from '../../../test/support/require-program.ts'
import { agent } from '../../../test/support/test-troupe.ts'

async function openCache() {
  requireSandbox()
  const registry = await startRegistry()
  const { root, workspace, sandbox } = openTestSandbox()
  const cache = temporaryFolder()
  const env: Record<string, string | undefined> = {
    ...process.env,
    XDG_CACHE_HOME: cache,
    npm_config_registry: `http://${registry.host}/`,
  }
  const folder = join(cache, 'troupe', 'mcp-servers')
  const start = async (entryEnv: Record<string, string> = {}) => {
    const entry = { command: 'npx', args: ['-y', 'tiny-server'], env: entryEnv }
    const harness = createMcpHarness({ tiny: entry }, { sandbox, workspace, env, unconfined: false })
    await harness.mcp.prepare(TEST_AGENT)
    return { ...harness, warning: harness.warnings.join('\n') }
  }
  return { root, folder, env, start, sandbox, workspace }
}

test('MC57 a package that was installed with other settings of npm is not shared', async () => {
  const { folder, start } = await openCache()
  await start()
  await start({ npm_config_omit: 'optional' })
  expect(readdirSync(folder)).toHaveLength(2)
  await start({ NPM_CONFIG_OMIT: 'optional', OTHER: 'x' })
  expect(readdirSync(folder)).toHaveLength(2)
})

test('MC57 the registry of an agent file is checked in any spelling', async () => {
  const { env, sandbox, workspace } = await openCache()
  const NPM_CONFIG_REGISTRY = 'http://registry.invalid/'
  const entry = { command: 'npx', args: ['-y', 'tiny-server'], env: { NPM_CONFIG_REGISTRY } }
  const options = { sandbox, workspace, env, unconfined: false, hosts: ['127.0.0.2'] }
  const { mcp, warnings } = createMcpHarness({}, options)
  await mcp.prepare(agent('owner', { mcp_servers: { tiny: entry } }))
  expect(warnings.join('\n')).toContain('fetched from registry.invalid, which is not allowed')
})

test('MC57 neither an npm of the workspace nor a wrapper is executed', async () => {
  const { root, env, folder, start } = await openCache()
  const [bin, wrapper] = [join(root, 'node_modules/.bin'), temporaryFolder()]
  mkdirSync(bin, { recursive: true })
  for (const file of [join(bin, 'npm'), join(wrapper, 'npm')])
    writeFileSync(file, 'require("node:fs").mkdirSync("node_modules/planted", { recursive: true })', { mode: 0o755 })
  env.PATH = `${bin}:${wrapper}:${env.PATH}`
  const { call } = await start()
  expect(await call('mcp__tiny__echo', { text: 'real' })).toMatchObject({ output: 'real' })
  const [name = ''] = readdirSync(folder)
  expect(existsSync(join(folder, name, 'node_modules/planted'))).toBe(false)
})

test('MC57 a cache that others can write is not used, and left-overs of killed installations are removed', async () => {
  const { folder, start } = await openCache()
  const [old, recent] = ['.install-old', '.install-recent'].map((name) => join(folder, name)) as [string, string]
  for (const path of [old, recent]) mkdirSync(path, { recursive: true })
  utimesSync(old, 0, 0)
  await start()
  expect([existsSync(old), existsSync(recent)]).toEqual([false, true])
  chmodSync(folder, 0o777)
  const { warning } = await start()
  expect(warning).toMatch(/mcp-servers is not a folder that only you can write[\s\S]*XDG_CACHE_HOME/)
})

test('MC57 agents cannot write the cache in a workspace that is the home folder', async () => {
  requireSandbox()
  const home = temporaryFolder()
  const before = process.env.XDG_CACHE_HOME
  process.env.XDG_CACHE_HOME = join(home, '.cache')
  try {
    const { openToolbox } = await import('../../runtime/tool-ports.ts')
    const toolbox = await openToolbox({ workspace: { workspace: home }, store: 'memory' })
    const folder = '.cache/troupe/mcp-servers'
    const run = await toolbox?.sandbox.spawn({ command: `touch ${folder}/x; touch .cache/y` })
    await run?.ended
    expect(readdirSync(join(home, folder))).toEqual([])
    expect(readdirSync(join(home, '.cache')).toSorted()).toEqual(['troupe', 'y'])
    await toolbox?.close()
  } finally {
    if (before === undefined) delete process.env.XDG_CACHE_HOME
    else process.env.XDG_CACHE_HOME = before
  }
})
