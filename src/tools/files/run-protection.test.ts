import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { addProtectedPaths, pathsInWorkspace } from './run-protection.ts'
import { openWorkspace } from './workspace.ts'

function createFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe protection ')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'shared'))
  writeFileSync(join(folder, 'shared/pair.yaml'), '')
  symlinkSync('shared/pair.yaml', join(folder, 'team.yaml'))
  return folder
}

test('FT12 the recorded paths are those inside the workspace, with the symlink that names a file and its target', () => {
  const folder = createFolder()
  const link = `${folder} link`
  symlinkSync(folder, link)
  onTestFinished(() => rmSync(link))
  const protect = [join(link, 'team.yaml'), 'config.json', '/etc/hosts', folder, join(folder, '..')]
  expect(pathsInWorkspace(openWorkspace(link), protect)).toEqual(['team.yaml', 'shared/pair.yaml', 'config.json'])
})

test('FT12 a recorded path only adds protection, and none outside the workspace or of all of it', () => {
  const folder = createFolder()
  const workspace = openWorkspace(folder, ['config.json'])
  addProtectedPaths(workspace, [
    'team.yaml',
    'team.yaml',
    '',
    '.',
    '..',
    '../x',
    '/etc/hosts',
    'a/../../x',
    'a\0b',
    7,
    null,
  ])
  for (const forged of ['text', { length: 1 }, null, undefined]) addProtectedPaths(workspace, forged)
  expect(workspace.protect).toEqual([join(folder, 'config.json'), join(folder, 'team.yaml')])
})
