import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toConfigFile } from './config-file.ts'
import { checkTrustedAgents, hashConfigFiles } from './config-trust.ts'
import { findTrustChanges, hashFiles, recordTrust } from './folder-trust.ts'
import { readTrustedCopy } from './trusted-copies.ts'

function createFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-trust-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

const coveredBy = async (folder: string, name: string) =>
  Object.keys(await hashConfigFiles(toConfigFile(join(folder, name)))).sort()

test('FT2 the hashes cover modules and scripts that JSON and YAML name, with or without ./', async () => {
  const yaml = [
    'tools: [tools.ts, lib/more.ts]',
    'hooks: [./hooks.js]',
    'mcp: { servers: { files: { command: node, args: [server.mjs] } } }',
    'store: ./runs.db',
    'permissions: { deny: [README.md] }',
  ]
  const names = ['tools.ts', 'lib/more.ts', 'lib/inner.ts', 'hooks.js', 'server.mjs', 'runs.db', 'README.md']
  const folder = createFolder({
    ...Object.fromEntries(names.map((name) => [name, ''])),
    'troupe.config.yaml': yaml.join('\n'),
    'lib/more.ts': "import './inner.ts'",
  })
  const covered = ['hooks.js', 'lib/inner.ts', 'lib/more.ts', 'server.mjs', 'tools.ts', 'troupe.config.yaml']
  expect(await coveredBy(folder, 'troupe.config.yaml')).toEqual(covered)
})

test('FT2 the hashes cover what code requires without an extension and scripts that it starts, not what runs write', async () => {
  const folder = createFolder({
    'troupe.config.js':
      "const { pay } = require('./tools')\nrequire('./lib')\nexport default { mcp: { args: ['server.py'] }, store: './runs.db' }",
    'tools.js': '',
    'lib/index.js': '',
    'server.py': '',
    'runs.db': '',
  })
  expect(await coveredBy(folder, 'troupe.config.js')).toEqual([
    ...['lib/index.js', 'server.py', 'tools.js', 'troupe.config.js'],
  ])
})

test('FT2 the hashes cover programs that code names without ./ or an extension, and not the data that it writes', async () => {
  const folder = createFolder({
    'troupe.config.ts': [
      "// The server isn't part of the configuration",
      "export default { mcp: { servers: { x: { command: 'bin/server', args: ['my server.mjs', 'server.conf'] } } } }",
      `const shell = "bin/start --port 1", own = \`\${import.meta.dirname}/lib/own\`, text = "it's odd.sh"`,
      "import tools from './tools.ts'",
      "import { all } from 'package'",
    ].join('\n'),
    'tools.ts': "export const names = ['lib/worker', 'lib', 'lib/none', 'lib/run.log', 'ledger', '..bin/x']",
    ...Object.fromEntries(['bin/server', 'server.conf', 'my server.mjs', "it's odd.sh"].map((name) => [name, ''])),
    ...Object.fromEntries(
      ['bin/start', 'bin/unused', 'lib/own', '..bin/x', 'package'].map((name) => [name, '#!/bin/sh\n']),
    ),
    ...Object.fromEntries(['lib/worker', 'lib/run.log', 'ledger'].map((name) => [name, ''])),
  })
  chmodSync(join(folder, 'lib/worker'), 0o755)
  const covered = ['..bin/x', 'bin/server', 'bin/start', "it's odd.sh", 'lib/own', 'lib/worker', 'my server.mjs']
  expect(await coveredBy(folder, 'troupe.config.ts')).toEqual([
    ...[...covered, 'server.conf', 'tools.ts', 'troupe.config.ts'],
  ])
})

test('FT2 a string that names a file outside the folder, or a device, is not followed', async () => {
  const code = "export default { args: ['/etc/passwd', '/dev/zero', 'a/../../../etc/passwd', '.', '/', ''] }"
  const folder = createFolder({ 'troupe.config.ts': code, 'a/b': '' })
  expect(await coveredBy(folder, 'troupe.config.ts')).toEqual(['troupe.config.ts'])
})

test('FT2 the hashes cover `#imports` and names of the package itself, with the package.json that resolves them', async () => {
  const manifest = {
    name: 'my-app',
    imports: {
      '#tools': { development: './lib/tools.dev.ts', default: './lib/tools.ts' },
      '#hooks/*': './hooks/*.ts',
      '#package': 'zod',
    },
    exports: { '.': './index.ts', './models': ['./lib/models.ts'] },
  }
  const names = ['lib/tools.ts', 'lib/tools.dev.ts', 'hooks/guard.ts', 'hooks/other.ts', 'lib/models.ts', 'index.ts']
  const folder = createFolder({
    ...Object.fromEntries(names.map((name) => [name, ''])),
    'package.json': JSON.stringify(manifest),
    'troupe.config.ts': "import '#tools'\nimport '#hooks/guard'\nimport '#package'\nawait import('my-app/models')",
    'hooks/guard.ts': "import { inner } from '#tools'",
  })
  const covered = ['hooks/guard.ts', 'lib/models.ts', 'lib/tools.dev.ts', 'lib/tools.ts', 'package.json']
  expect(await coveredBy(folder, 'troupe.config.ts')).toEqual([...covered, 'troupe.config.ts'])
})

test('FT2 a package.json that resolves nothing is not covered, and a damaged one changes nothing', async () => {
  const code = "import '#missing'\nimport 'zod'"
  const folder = createFolder({ 'package.json': '{"name":"a","imports":{"#x":"./x.ts"}}', 'troupe.config.ts': code })
  expect(await coveredBy(folder, 'troupe.config.ts')).toEqual(['troupe.config.ts'])
  writeFileSync(join(folder, 'package.json'), '{"imports":')
  expect(await coveredBy(folder, 'troupe.config.ts')).toEqual(['troupe.config.ts'])
})

test('FT2 the imports of a linked file are those beside its target, as in Node', async () => {
  const shared = createFolder({ 'config.ts': "import './tools.ts'", 'tools.ts': 'export const a = 1' })
  const folder = createFolder({})
  symlinkSync(join(shared, 'config.ts'), join(folder, 'troupe.config.ts'))
  const record = join(folder, 'trust')
  const file = toConfigFile(join(folder, 'troupe.config.ts'))
  await recordTrust(record, folder, await hashConfigFiles(file))
  expect(await findTrustChanges(record, folder, await hashConfigFiles(file))).toBeUndefined()
  writeFileSync(join(shared, 'tools.ts'), 'export const a = 2')
  const changes = await findTrustChanges(record, folder, await hashConfigFiles(file))
  expect(changes?.changed).toEqual([expect.stringMatching(/tools\.ts$/)])
})

test.each(['', 'null', '[]', '{"folders":null}', '{"folders":{', '\0'])(
  'FT6 a damaged record %j trusts nothing',
  async (text) => {
    const folder = createFolder({ trust: text, 'troupe.config.ts': 'export default {}' })
    const record = join(folder, 'trust')
    chmodSync(record, 0o600)
    const files = await hashConfigFiles(toConfigFile(join(folder, 'troupe.config.ts')))
    const recordProblem = 'it is damaged'
    expect(await findTrustChanges(record, folder, files)).toMatchObject({ wasTrusted: false, recordProblem })
    await expect(recordTrust(record, folder, files)).rejects.toThrow('it is damaged')
    expect(readFileSync(record, 'utf8')).toBe(text)
  },
)

test('FT6 a record that others may write trusts nothing, and what it has is not lost', async () => {
  const folder = createFolder({ 'troupe.config.ts': 'export default {}' })
  const record = join(folder, 'trust')
  const files = await hashConfigFiles(toConfigFile(join(folder, 'troupe.config.ts')))
  await recordTrust(record, folder, files)
  chmodSync(record, 0o666)
  const recordProblem = 'another user owns it or may write it'
  expect(await findTrustChanges(record, folder, files)).toMatchObject({ wasTrusted: false, recordProblem })
  await expect(recordTrust(record, folder, files)).rejects.toThrow(recordProblem)
  chmodSync(record, 0o600)
  expect(await findTrustChanges(record, folder, files)).toBeUndefined()
})

test('FT6 a missing record has no problem; one that is no file has', async () => {
  const folder = createFolder({ 'troupe.config.ts': 'export default {}' })
  const files = await hashConfigFiles(toConfigFile(join(folder, 'troupe.config.ts')))
  const missing = await findTrustChanges(join(folder, 'none', 'trust'), folder, files)
  expect([missing?.wasTrusted, missing?.recordProblem]).toEqual([false, undefined])
  mkdirSync(join(folder, 'trust'), { mode: 0o700 })
  expect(await findTrustChanges(join(folder, 'trust'), folder, files)).toMatchObject({
    recordProblem: 'it cannot be read (EISDIR)',
  })
})

test('FT15 the hashes cover team files that the configuration names, and their sub-teams', async () => {
  const folder = createFolder({
    'troupe.config.yaml': 'team:\n  teams: [teams/pair.yaml]\n',
    'teams/pair.yaml': 'name: pair\nagents:\n  - name: inner\n    team: sub/inner.yaml\n',
    'teams/sub/inner.yaml': 'name: inner\n',
    'teams/unused.yaml': 'name: unused\n',
  })
  const covered = ['teams/pair.yaml', 'teams/sub/inner.yaml', 'troupe.config.yaml']
  expect(await coveredBy(folder, 'troupe.config.yaml')).toEqual(covered)
})

test('FT3 the copies of trusted files are private, used only with their own hash, and deleted when nobody needs them', async () => {
  const folder = createFolder({ 'a.ts': 'one\n' })
  const record = join(folder, 'config', 'trust')
  const first = await hashFiles(folder, ['a.ts'])
  await recordTrust(record, folder, first)
  const copy = join(folder, 'config/trusted', first['a.ts'] ?? '')
  expect([statSync(copy).mode & 0o777, statSync(dirname(copy)).mode & 0o777]).toEqual([0o600, 0o700])
  expect(await readTrustedCopy(record, first['a.ts'] ?? '')).toBe('one\n')
  writeFileSync(copy, 'forged\n')
  expect(await readTrustedCopy(record, first['a.ts'] ?? '')).toBeUndefined()
  expect(await readTrustedCopy(record, '../trust')).toBeUndefined()
  writeFileSync(join(folder, 'a.ts'), 'two\n')
  await recordTrust(record, folder, await hashFiles(folder, ['a.ts']))
  expect(existsSync(copy)).toBe(false)
})

const AGENT_FOLDERS = {
  'team/reviewer.md': '',
  'team/inner/helper.md': '',
  'team/inner/server.mjs': '',
  'roster.yaml': 'agents:\n  - name: a\n    instructions: prompts/a.md\n',
  'prompts/a.md': '',
  'prompts/unused.md': '',
  'src/notes.md': '',
}
const AGENT_FILES = ['prompts/a.md', 'roster.yaml', 'team/inner/helper.md', 'team/inner/server.mjs', 'team/reviewer.md']

test.each([
  ['troupe.config.yaml', 'agents: [team, ./roster.yaml]\n'],
  ['troupe.config.json', '{"agents": ["./team", "roster.yaml"]}'],
  ['troupe.config.ts', "export default { agents: [{ name: 'src', tools: ['src'] }, './team', \"roster.yaml\"] }"],
  [
    'troupe.config.js',
    "const agents = [\n  // 'src'\n  'team',\n  join(here, 'roster.yaml'),\n]\nexport default { agents }",
  ],
])('FT15 the hashes cover the agent folders and files that %s names', async (name, text) => {
  const folder = createFolder({ ...AGENT_FOLDERS, [name]: text })
  expect(await coveredBy(folder, name)).toEqual([...AGENT_FILES, name].sort())
})

test('FT15 of the whole project only the files are covered that are read as agents', async () => {
  const folder = createFolder({ 'troupe.config.json': '{"agents": ["."]}', 'a.md': '', 'src/main.ts': '' })
  expect(await coveredBy(folder, 'troupe.config.json')).toEqual(['a.md', 'troupe.config.json'])
})

test('FT15 a path that code computes is rejected; control: one that it contains is not, nor is one of a package', async () => {
  const folder = createFolder({ ...AGENT_FOLDERS, 'troupe.config.ts': "export default { agents: ['team'] }" })
  const file = toConfigFile(join(folder, 'troupe.config.ts'))
  await checkTrustedAgents(file, [join(folder, 'team'), { name: 'inline' }])
  await checkTrustedAgents(file, [join(folder, 'node_modules/package/agents')])
  const problem = checkTrustedAgents(file, [join(folder, 'team'), join(folder, 'src')])
  await expect(problem).rejects.toThrow(/`agents` has the path src, which the file does not contain as a string/)
})

test('FT2 a device that the configuration names is not read, and a folder is loaded as Node does', async () => {
  const servers = '{ s: { command: node, args: [./server] }, t: { command: cat, args: [/dev/zero] } }'
  const folder = createFolder({ 'troupe.config.yaml': `mcp: { servers: ${servers} }`, 'server/index.js': '' })
  expect(await coveredBy(folder, 'troupe.config.yaml')).toEqual(['server/index.js', 'troupe.config.yaml'])
})
