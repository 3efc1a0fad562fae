import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findProjectConfig } from '../../formats/config-file.ts'
import { createTroupe, defineConfig, loadConfig } from '../../index.ts'
import * as z from '../../schema/zod.ts'
import { configJsonSchema } from './config-schema.ts'
import { mergeOptions } from './merge-options.ts'

async function projectWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-config-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

const loadFrom = async (name: string, text: string) => loadConfig(join(await projectWith({ [name]: text }), name))

test('CF1 the nearest file up to the root of the git repository is found; an empty one is none', async () => {
  const folder = await projectWith({
    'outer/troupe.config.json': '{}',
    'outer/repo/.git/HEAD': '',
    'outer/repo/troupe.config.yaml': 'model: fast',
    'outer/repo/a/troupe.config.ts': '',
    'outer/repo/a/b/x': '',
    'outer/plain/x': '',
  })
  const found = await findProjectConfig(join(folder, 'outer/repo/a/b'))
  expect(found).toMatchObject({ path: join(folder, 'outer/repo/troupe.config.yaml'), kind: 'data' })
  expect(await findProjectConfig(join(folder, 'outer/plain'))).toBeUndefined()
  expect(await findProjectConfig(join(folder, 'outer'))).toMatchObject({ folder: join(folder, 'outer') })
})

test('CF2 two files in one folder are rejected by name', async () => {
  const folder = await projectWith({ 'troupe.config.json': '{}', 'troupe.config.yaml': 'model: fast' })
  await expect(findProjectConfig(folder)).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('troupe.config.json and troupe.config.yaml'),
  })
})

test('CF3 `config: PATH` reads that file, whatever its name, and `config: false` none', async () => {
  const folder = await projectWith({ 'other.json': '{"limits": {"calls": -1}}' })
  const path = join(folder, 'other.json')
  await expect(createTroupe({ store: 'memory', config: path })).rejects.toThrow('invalid `limits`')
  await (await createTroupe({ store: 'memory', config: false })).close()
  await expect(createTroupe({ config: join(folder, 'missing.json') })).rejects.toThrow('no such file')
  await expect(createTroupe({ config: join(folder, 'notes.toml') })).rejects.toThrow('is no configuration file')
})

test('CF4 paths start at the folder of the file', async () => {
  const text = JSON.stringify({
    store: 'data',
    model: 'scripted:script.json',
    agents: ['agents', { name: 'a' }],
    workspace: { workspace: 'src' },
  })
  const { options, folder } = await loadFrom('troupe.config.json', text)
  expect(options).toMatchObject({
    store: join(folder, 'data'),
    model: `scripted:${join(folder, 'script.json')}`,
    agents: [join(folder, 'agents'), { name: 'a' }],
    workspace: { workspace: join(folder, 'src') },
  })
  for (const store of ['memory', 'postgres://host/db'])
    expect((await loadFrom('troupe.config.json', JSON.stringify({ store }))).options.store).toBe(store)
})

test.each([
  ['troupe.config.yaml', 'model: fast\ntols: []\n', 'troupe.config.yaml:2:1', "unknown key 'tols'", "mean 'tools'"],
  ['troupe.config.json', '{\n  "limitss": {}\n}', 'troupe.config.json:2:3', "unknown key 'limitss'", "mean 'limits'"],
  ['troupe.config.yaml', 'mcp:\n  server: {}\n', 'troupe.config.yaml:2:3', "key 'mcp.server'", "mean 'servers'"],
  ['troupe.config.yaml', 'permissions:\n  mode: yes\n', 'troupe.config.yaml:2:3', "'permissions.mode' is invalid", ''],
  ['troupe.config.yaml', 'performers: {}\n', 'troupe.config.yaml:1:1', "'performers' needs code", 'troupe.config.ts'],
  ['troupe.config.yaml', '- a\n', 'troupe.config.yaml:1:1', 'is no object', ''],
])('CF5 %s with a wrong key or value is rejected at its place: %j', async (name, text, place, problem, hint) => {
  await expect(loadFrom(name, text)).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(new RegExp(`${place}.*${problem}`)),
    hint: expect.stringContaining(hint),
  })
})

test.each([
  ['{ tols: [] }', "unknown key 'tols'", "mean 'tools'"],
  ['{ permissions: { dney: [] } }', "unknown key 'dney' in `permissions`", "mean 'deny'"],
  ["{ trust: 'project' }", "unknown key 'trust'", 'createTroupe'],
  ["{ defaultStore: 'runs' }", "unknown key 'defaultStore'", 'createTroupe'],
  ['{ config: false }', "unknown key 'config'", 'createTroupe'],
  ['[]', 'the default export is no object', 'defineConfig'],
])('CF5 troupe.config.ts with a wrong key is rejected with its path: %j', async (text, problem, hint) => {
  await expect(loadFrom('troupe.config.ts', `export default ${text}`)).rejects.toMatchObject({
    code: 'invalid_input',
    responsible: 'operator',
    message: expect.stringMatching(new RegExp(`troupe.config.ts: ${problem}`)),
    hint: expect.stringContaining(hint),
  })
})

test.each([
  ['troupe.config.json', '{\n  "model": \n}', 'troupe.config.json:2:12: invalid JSON'],
  ['troupe.config.json', '{\n  "model": "fast"\n  "project": "a"\n}', 'troupe.config.json:3:3: invalid JSON'],
  ['troupe.config.json', '{\n  "redact": flase\n}', 'troupe.config.json:2:13: invalid JSON'],
  ['troupe.config.yaml', 'limits: {\n', 'troupe.config.yaml:2:1: invalid YAML'],
])('CF6 a syntax error in %s is reported with its place', async (name, text, message) => {
  await expect(loadFrom(name, text)).rejects.toMatchObject({ message: expect.stringContaining(message) })
})

test('CF7 options win: lists are joined, blocks merged, entries and everything else replaced', () => {
  const model = { name: 'own', async *stream() {} }
  const merged = mergeOptions(
    {
      model: 'fast',
      limits: { calls: 5, usd: 1 },
      disabledTools: ['Bash'],
      permissions: { mode: 'ask', allow: ['Read'] },
      mcp: { servers: { a: { command: 'a', args: ['x'] }, b: { url: 'http://b' } } },
      collaborate: { max_agents: 3, coordinator: { model: 'fast', temperature: 0 } },
      cassette: { record: 'a' },
    },
    {
      model,
      limits: { calls: 9 },
      disabledTools: ['LSP'],
      permissions: { allow: ['Bash(ls)'] },
      mcp: { servers: { a: { url: 'http://a' } } },
      collaborate: { coordinator: { temperature: 1 } },
      cassette: { replay: 'b' },
    },
  )
  expect(merged).toEqual({
    model,
    limits: { calls: 9, usd: 1 },
    disabledTools: ['Bash', 'LSP'],
    permissions: { mode: 'ask', allow: ['Read', 'Bash(ls)'] },
    mcp: { servers: { a: { url: 'http://a' }, b: { url: 'http://b' } } },
    collaborate: { max_agents: 3, coordinator: { model: 'fast', temperature: 1 } },
    cassette: { replay: 'b' },
  })
})

test('CF8 hooks with a name are found in a module, and an object with only a name is none', async () => {
  const folder = await projectWith({
    'troupe.config.yaml': 'hooks: [hooks.js]',
    'hooks.js':
      "export const guard = { name: 'guard', beforeTool: () => undefined }\nexport const other = { name: 'x' }",
    'package.json': '{"type":"module"}',
  })
  const { options } = await loadConfig(join(folder, 'troupe.config.yaml'))
  expect(options.hooks).toMatchObject([{ name: 'guard' }])
})

test('CF9 the published schema is up to date and has the settings of patterns', async () => {
  const published = JSON.parse(await readFile('schemas/config.schema.json', 'utf8'))
  const schema = await configJsonSchema()
  if (process.env.UPDATE_SCHEMA) await writeFile('schemas/config.schema.json', `${JSON.stringify(schema, null, 2)}\n`)
  expect(published, 'renew it with UPDATE_SCHEMA=1, then npm run format').toEqual(schema)
})

test('CF9 the schema accepts what the loader accepts and rejects what it rejects', async () => {
  const schema = z.fromJSONSchema((await configJsonSchema()) as never)
  const valid = [
    {},
    { $schema: 'x', task: { max_recursion_depth: 2 }, collaborate: { default_mode: 'parallel', max_agents: 4 } },
    { agents: ['./agents', { name: 'a' }], limits: { usd: null }, tools: ['./tools.ts'] },
  ]
  const invalid = [{ tols: [] }, { tools: [{}] }, { task: { depth: 1 } }, { permissions: { mode: 'all' } }]
  for (const value of valid) {
    expect(schema.safeParse(value).success, JSON.stringify(value)).toBe(true)
    if (!('tools' in value)) await loadFrom('troupe.config.json', JSON.stringify(value))
  }
  for (const value of invalid) {
    expect(schema.safeParse(value).success, JSON.stringify(value)).toBe(false)
    const folder = await projectWith({ 'troupe.config.json': JSON.stringify(value) })
    const creating = createTroupe({ store: 'memory', config: join(folder, 'troupe.config.json') })
    await expect(creating, JSON.stringify(value)).rejects.toMatchObject({ code: 'invalid_input' })
  }
})

const AGENT = (name: string, description = 'from a file') =>
  `---\nname: ${name}\ndescription: ${description}\n---\nWork.\n`

test('CF10 agent files of named folders work in programs; an agent object wins over a file', async () => {
  const folder = await projectWith({
    'mine/scout.md': AGENT('scout'),
    'mine/coder.md': AGENT('coder'),
    'mine/roster.yaml': 'agents:\n  - name: planner\n    description: plans\n    instructions: Plan.\n',
  })
  const coder = { name: 'coder', description: 'from the program', instructions: 'Code.' }
  await using troupe = await createTroupe({ store: 'memory', agents: [coder, join(folder, 'mine')] })
  const description = (name: string) => troupe.agents.find((agent) => agent.name === name)?.description
  expect([description('scout'), description('coder'), description('planner')]).toEqual([
    'from a file',
    'from the program',
    'plans',
  ])
})

test('CF10 with a configuration file the agent folders of its project are searched', async () => {
  const folder = await projectWith({
    'troupe.config.json': '{}',
    '.troupe/agents/scout.md': AGENT('scout'),
    '.claude/agents/helper.md': AGENT('helper'),
  })
  await using troupe = await createTroupe({ store: 'memory', config: join(folder, 'troupe.config.json') })
  expect(troupe.agents.map(({ name }) => name)).toEqual(expect.arrayContaining(['scout', 'helper', 'architect']))
})

test('`defineConfig` returns its argument', () => {
  const config = { model: 'fast' }
  expect(defineConfig(config)).toBe(config)
})
