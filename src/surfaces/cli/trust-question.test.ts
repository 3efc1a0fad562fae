import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageFolders } from './trust-question.ts'

test('FT2 every node_modules that code can import from is listed: beside it, above the folder, and where a symlink leads', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-packages-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const folder = join(root, 'repository/app')
  for (const name of ['node_modules', 'app/lib/node_modules', 'app/other/node_modules', 'shared/node_modules'])
    mkdirSync(join(root, 'repository', name), { recursive: true })
  writeFileSync(join(root, 'repository/shared/tools.ts'), '')
  writeFileSync(join(folder, 'lib/models.tsx'), '')
  const named = (...names: string[]) =>
    packageFolders({ folder, files: Object.fromEntries(names.map((name) => [name, ''])) }).filter(
      // Those above the temporary folder are not of this test.
      (path) => join(folder, path).startsWith(root),
    )
  expect(named('troupe.config.yaml', '.claude/agents/a.md')).toEqual([])
  expect(named('troupe.config.ts')).toEqual(['../node_modules'])
  expect(named('troupe.config.ts', 'lib/models.tsx').sort()).toEqual(['../node_modules', 'lib/node_modules'])
  symlinkSync(join(root, 'repository/shared/tools.ts'), join(folder, 'tools.ts'))
  expect(named('tools.ts').sort()).toEqual(['../node_modules', '../shared/node_modules'])
})
