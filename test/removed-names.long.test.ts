import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { REMOVED_NAMES } from '../src/schema/removed-names.ts'

const MAIN = fileURLToPath(new URL('../src/surfaces/cli/main.ts', import.meta.url))
const exported = Object.entries(REMOVED_NAMES).filter(([name]) => name.startsWith('troupe/'))

// A process of its own: the test runner reads a missing export as `undefined`.
test.each(exported)('SC5 the import of %s is refused by name with what to use instead', async (path, instead) => {
  const [module = '', name = ''] = path.split(' ')
  const folder = await mkdtemp(join(tmpdir(), 'troupe-removed-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const installed = join(folder, 'node_modules', module)
  await mkdir(installed, { recursive: true })
  await writeFile(join(installed, 'index.js'), 'export {}')
  const exports = { './testing': './testing/index.js' }
  await writeFile(join(installed, '../package.json'), JSON.stringify({ type: 'module', exports }))
  await writeFile(join(folder, 'troupe.config.ts'), `import { ${name} } from '${module}'\nexport default { ${name} }\n`)
  const env = { ...process.env, HOME: folder, COLUMNS: '300' }
  const argv = [MAIN, 'runs', '--trust-project']
  const failed = promisify(execFile)(process.execPath, argv, { cwd: folder, env })
  await expect(failed).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(instead) })
  await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining(`'${name}'`) })
})
