import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { callTool } from '../../../test/escape/tool-workspace.ts'
import { requireSandbox } from '../../../test/support/require-program.ts'
import { createTroupe } from '../../index.ts'
import { createTools } from '../tools.ts'
import { storePathsToHide } from './store-location.ts'

let root: string
let workspace: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-store-')))
  workspace = join(root, 'workspace')
  mkdirSync(workspace)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test('TO67 a database file in the workspace is rejected as a store: agents could tamper with the journal', async () => {
  symlinkSync(workspace, join(root, 'alias'))
  const exposed = [join(workspace, 'runs.db'), join(workspace, 'data/runs.sqlite'), join(root, 'alias/runs.db')]
  for (const path of exposed) {
    expect(() => storePathsToHide(workspace, { path, isFile: true }), path).toThrow('where agents can change it')
    await expect(createTroupe({ store: path, workspace: { workspace } }), path).rejects.toThrow(
      'where agents can change it',
    )
  }
  expect(() => storePathsToHide(workspace, { path: workspace, isFile: false })).toThrow('where agents can change it')
  await expect(createTroupe({ store: workspace, workspace: { workspace } })).rejects.toThrow(
    'where agents can change it',
  )
})

test('TO67 a store outside the workspace, in .troupe or in its own folder is accepted', () => {
  expect(storePathsToHide(workspace, { path: join(root, 'runs.db'), isFile: true })).toEqual([])
  expect(storePathsToHide(workspace, { path: join(workspace, '.troupe/runs.db'), isFile: true })).toEqual([])
  expect(storePathsToHide(workspace, { path: join(workspace, '.troupe'), isFile: false })).toEqual([])
  expect(storePathsToHide(workspace, { path: join(workspace, 'data'), isFile: false })).toContain(
    join(workspace, 'data'),
  )
})

test('TO67 agents can neither read nor write the folder of the store', async () => {
  requireSandbox()
  mkdirSync(join(workspace, 'data'))
  writeFileSync(join(workspace, 'data/troupe.db-wal'), 'secret text\n')
  symlinkSync('data', join(workspace, 'alias'))
  const toolbox = createTools({
    workspace,
    hide: storePathsToHide(workspace, { path: join(workspace, 'data'), isFile: false }),
  })
  const path = 'data/troupe.db-wal'
  for (const file_path of [path, 'alias/troupe.db-wal']) {
    expect(await callTool(toolbox, 'Read', { file_path }), file_path).toMatchObject({ success: false, code: 'denied' })
  }
  for (const file_path of [path, 'alias/troupe.db-wal', 'Data/troupe.db-wal', 'data/troupe.db-journal']) {
    const write = { file_path, content: 'x' }
    expect(await callTool(toolbox, 'Write', write), file_path).toMatchObject({ success: false, code: 'denied' })
  }
  expect((await callTool(toolbox, 'Grep', { pattern: 'secret' })).text).not.toContain('data')
  expect((await callTool(toolbox, 'Glob', { pattern: '**/*' })).text).not.toContain('data')
  const { text } = await callTool(toolbox, 'Bash', {
    command: 'cat data/* alias/*; echo x > data/troupe.db-journal; rm -rf data/*; mv data away',
  })
  expect(text).not.toContain('secret')
  expect(readdirSync(join(workspace, 'data'))).toEqual(['troupe.db-wal'])
})
