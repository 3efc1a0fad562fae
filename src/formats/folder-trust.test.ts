import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toConfigFile } from './config-file.ts'
import { hashConfigFiles } from './config-trust.ts'
import { findTrustChanges, recordTrust } from './folder-trust.ts'

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
    expect(await findTrustChanges(record, folder, files)).toMatchObject({ wasTrusted: false })
    await recordTrust(record, folder, files)
    expect(await findTrustChanges(record, folder, files)).toBeUndefined()
  },
)

test('FT6 a record that others may write trusts nothing, and is replaced by a private one', async () => {
  const folder = createFolder({ 'troupe.config.ts': 'export default {}' })
  const record = join(folder, 'trust')
  const files = await hashConfigFiles(toConfigFile(join(folder, 'troupe.config.ts')))
  await recordTrust(record, folder, files)
  chmodSync(record, 0o666)
  expect(await findTrustChanges(record, folder, files)).toMatchObject({ wasTrusted: false })
  await recordTrust(record, folder, files)
  expect(statSync(record).mode & 0o777).toBe(0o600)
  expect(await findTrustChanges(record, folder, files)).toBeUndefined()
})
