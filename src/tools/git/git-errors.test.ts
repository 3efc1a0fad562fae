import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GitFixture } from '../../../test/support/git-fixture.ts'
import { createGitFixture } from '../../../test/support/git-fixture.ts'
import { toGitError } from './git-errors.ts'

let fixture: GitFixture
beforeEach(() => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\n')
  fixture.commitAll('first')
})
afterEach(() => fixture.remove())

const ID = { run_id: 'run_1', name: 'one' }
const FOLDERS = { repository: '/project/.git', worktrees: '/state' }

describe('what earlier runs and other processes leave', () => {
  test('GT18 worktrees and branches of other runs are listed with what is on them', async () => {
    const { repository } = fixture
    const worktree = await repository.openWorktree({ id: ID })
    const kept = { run_id: 'run_0', name: 'kept' }
    await repository.openWorktree({ id: kept })
    await repository.removeWorktree({ id: kept, branch: 'keep' })
    writeFileSync(join(worktree.path, 'b.txt'), 'two\n')
    await repository.commit({ id: ID, message: 'Two' })
    writeFileSync(join(worktree.path, 'c.txt'), 'three\n')
    mkdirSync(join(worktree.path, '.troupe'))
    expect((await repository.leftovers()).toSorted((a, b) => (a.branch < b.branch ? -1 : 1))).toEqual([
      { id: kept, branch: 'troupe/run_0/kept', commits: 0, uncommitted: 0 },
      { id: ID, branch: worktree.branch, path: worktree.path, commits: 1, uncommitted: 1 },
    ])
    for (const { id } of await repository.leftovers()) await repository.removeWorktree({ id, branch: 'delete' })
    expect(await repository.leftovers()).toEqual([])
  })

  test('GT19 a lock that a killed process left in a worktree is removed', async () => {
    const { repository, top } = fixture
    const { path } = await repository.openWorktree({ id: ID })
    const git = readFileSync(join(path, '.git'), 'utf8').replace('gitdir: ', '').trim()
    expect(dirname(git)).toBe(join(top, '.git/worktrees'))
    writeFileSync(join(git, 'index.lock'), '')
    writeFileSync(join(path, 'b.txt'), 'two\n')
    expect((await repository.commit({ id: ID, message: 'Two' })).files).toHaveLength(1)
  })

  test('GT20 an entry that another git is still writing is waited for', async () => {
    const { repository, git, top, folder } = fixture
    git('worktree', 'add', '--quiet', '--detach', join(folder, 'other'))
    const commondir = join(top, '.git/worktrees/other/commondir')
    const text = readFileSync(commondir)
    writeFileSync(commondir, '')
    expect(() => git('worktree', 'list')).toThrow(/failed to read .*commondir/)
    const opened = repository.openWorktree({ id: ID })
    // The entry is complete only after the first attempts.
    await delay(500)
    writeFileSync(commondir, text)
    expect(readFileSync(join((await opened).path, 'a.txt'), 'utf8')).toBe('one\n')
  })

  test('GT20 two runs use one repository at the same time', async () => {
    const { repository, git } = fixture
    const runs = ['run_1', 'run_2', 'run_3'].map(async (run_id) => {
      const id = { run_id, name: 'same' }
      const { path, branch } = await repository.openWorktree({ id })
      writeFileSync(join(path, `${run_id}.txt`), run_id)
      await repository.commit({ id, message: run_id })
      await repository.removeWorktree({ id, branch: 'keep' })
      return git('show', `${branch}:${run_id}.txt`)
    })
    expect(await Promise.all(runs)).toEqual(['run_1', 'run_2', 'run_3'])
  })
})

describe('errors', () => {
  test('GT21 a branch named troupe is in the way', async () => {
    fixture.git('branch', 'troupe')
    await expect(fixture.repository.openWorktree({ id: ID })).rejects.toMatchObject({
      message: expect.stringContaining("the branch 'troupe' is in the way of the branch 'troupe/run_1/one'"),
      hint: 'rename it: git branch -m troupe NEW_NAME',
    })
  })

  test('GT21 a folder that is a file', async () => {
    writeFileSync(fixture.worktrees, '')
    await expect(fixture.repository.openWorktree({ id: ID })).rejects.toMatchObject({
      message: expect.stringContaining('cannot be created'),
      hint: expect.stringContaining('XDG_STATE_HOME'),
    })
    rmSync(fixture.worktrees)
  })

  test('GT21 a full disk, a lock of the user and other failures say what to do', () => {
    const error = (stderr: string, stopped?: 'timeout' | 'missing') =>
      toGitError(
        ['add', '--all'],
        { status: 1, stdout: Buffer.from(''), stderr, ...(stopped ? { stopped } : undefined) },
        FOLDERS,
      )
    expect(error('error: unable to write file: No space left on device')).toMatchObject({
      message: expect.stringContaining('the disk is full'),
      retry: true,
    })
    expect(error("fatal: Unable to create '/project/.git/index.lock': File exists.")).toMatchObject({
      message: expect.stringContaining("'/project/.git/index.lock' exists"),
      hint: expect.stringContaining("remove '/project/.git/index.lock'"),
    })
    expect(error('fatal: unable to read tree abc').hint).toContain('git fsck')
    expect(error('', 'timeout').message).toBe('`git add` did not end in time and was stopped')
    expect(error('spawn git ENOENT', 'missing').hint).toContain('install git')
    expect(error('fatal: something new\nhint: ignored').message).toBe('`git add` failed: fatal: something new')
  })
})
