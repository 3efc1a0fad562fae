import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GitFixture } from '../../../test/support/git-fixture.ts'
import { createGitFixture } from '../../../test/support/git-fixture.ts'

let fixture: GitFixture
beforeEach(() => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\n')
  fixture.commitAll('first')
})
afterEach(() => fixture.remove())

const ID = { run_id: 'run_1', name: 'task-1' }

test('GT18 a worktree of which a crash left only a file is found, and removed without a trace', async () => {
  const { repository, worktrees } = fixture
  const { path } = await repository.openWorktree({ id: ID })
  await repository.removeWorktree({ id: ID, branch: 'delete' })
  expect(await repository.leftovers()).toEqual([])
  mkdirSync(dirname(path), { recursive: true })
  // Killed after the branch was deleted, while the record was written, and while the ignore patterns were.
  for (const file of [`${path}.json`, `${path}.ready.tmp`, join(dirname(path), '../exclude.123')])
    writeFileSync(file, '')
  expect(await repository.leftovers()).toEqual([{ id: ID, branch: 'troupe/run_1/task-1', commits: 0, uncommitted: 0 }])
  await repository.removeWorktree({ id: ID, branch: 'delete' })
  expect(readdirSync(worktrees)).toEqual([])
})

test('GT18 branches of the user that only look like those of a run are no leftovers', async () => {
  const { repository, git } = fixture
  git('branch', 'troupe/team/feature+1')
  git('branch', 'troupe/plan')
  expect(await repository.leftovers()).toEqual([])
})

test('GT11 a commit never sees half of the ignore patterns that another one writes', async () => {
  const { repository, folder, worktrees } = fixture
  const { path } = await repository.openWorktree({ id: ID })
  mkdirSync(join(path, '.troupe'), { recursive: true })
  writeFileSync(join(path, '.troupe/seen'), '')
  expect((await repository.changes({ id: ID })).files).toEqual([])
  const [name = ''] = readdirSync(worktrees)
  // Git of another worktree has the file open.
  const reader = openSync(join(worktrees, name, 'exclude'), 'r')
  mkdirSync(join(folder, 'home/.config/git'), { recursive: true })
  writeFileSync(join(folder, 'home/.config/git/ignore'), '*.log\n')
  expect((await repository.changes({ id: ID })).files).toEqual([])
  expect(readFileSync(reader, 'utf8')).toBe('\n.troupe/\n')
  closeSync(reader)
  expect(readFileSync(join(worktrees, name, 'exclude'), 'utf8')).toBe('*.log\n\n.troupe/\n')
})
