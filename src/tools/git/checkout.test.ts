import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GitFixture } from '../../../test/support/git-fixture.ts'
import { createGitFixture } from '../../../test/support/git-fixture.ts'
import type { RepositoryOptions } from './git-repository.ts'
import { createRepository } from './git-repository.ts'

let fixture: GitFixture
beforeEach(() => {
  fixture = createGitFixture()
})
afterEach(() => fixture.remove())

const ID = { run_id: 'run_1', name: 'one' }
const open = (more: Partial<RepositoryOptions>) => {
  const { top, worktrees, folder } = fixture
  return createRepository({ workspace: top, worktrees, home: folder, path: process.env.PATH ?? '', ...more })
}

async function refusalOf(more: Partial<RepositoryOptions>) {
  const repository = open(more)
  const { refusal } = await repository.inspect()
  await expect(repository.openWorktree({ id: ID })).rejects.toMatchObject({
    code: 'invalid_input',
    responsible: 'operator',
    message: expect.stringContaining(refusal?.message ?? 'nothing is refused'),
    hint: expect.stringContaining(refusal?.hint ?? 'nothing is refused'),
  })
  expect(await repository.leftovers()).toEqual([])
  return refusal?.reason
}

describe('a checkout that cannot have worktrees', () => {
  test('GT9 no git, an old git, no repository, a bare one, and one without commits are refused with what to do', async () => {
    const { folder, git, top } = fixture
    expect(await refusalOf({})).toBe('no_commits')
    fixture.write('a.txt', 'one\n')
    fixture.commitAll('first')
    expect(await refusalOf({ path: folder })).toBe('no_git')
    writeFileSync(join(folder, 'git'), '#!/bin/sh\necho git version 2.25.1\n', { mode: 0o755 })
    expect(await refusalOf({ path: folder })).toBe('old_git')
    mkdirSync(join(folder, 'plain'))
    expect(await refusalOf({ workspace: join(folder, 'plain') })).toBe('no_repository')
    execFileSync('git', ['clone', '--quiet', '--bare', top, join(folder, 'bare.git')])
    expect(await refusalOf({ workspace: join(folder, 'bare.git') })).toBe('bare')
    expect(await refusalOf({ workspace: join(top, '.git') })).toBe('bare')
    expect(await refusalOf({ worktrees: join(top, 'state') })).toBe('worktrees_inside')
    git('config', 'core.worktree', join(folder, 'plain'))
    expect(await refusalOf({})).toBe('outside')
  })
})

describe('a checkout with something special', () => {
  beforeEach(() => {
    fixture.write('a.txt', 'one\n')
    fixture.write('deep/b.txt', 'two\n')
    fixture.commitAll('first')
  })

  test('GT10 a plain checkout is described without notes', async () => {
    const { git, top } = fixture
    expect(await fixture.repository.inspect()).toEqual({
      top,
      head: git('rev-parse', 'HEAD'),
      branch: 'main',
      dirty: { tracked: 0, untracked: 0 },
      submodules: [],
      features: [],
      files: 2,
      notes: [],
    })
  })

  test('GT10 changes that are not committed stay in the checkout, and a note says so', async () => {
    const { repository, git } = fixture
    fixture.write('a.txt', 'changed\n')
    fixture.write('staged.txt', 'staged\n')
    git('add', 'staged.txt')
    fixture.write('untracked.txt', 'untracked\n')
    const { dirty, notes } = await repository.inspect()
    expect(dirty).toEqual({ tracked: 2, untracked: 1 })
    expect(notes.join()).toContain('what is not committed (2 changed, 1 untracked); it stays in the checkout')
    const { path } = await repository.openWorktree({ id: ID })
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\n')
    expect(existsSync(join(path, 'untracked.txt'))).toBe(false)
  })

  test('GT10 a detached HEAD, a merge in progress and a linked worktree', async () => {
    const { repository, git, folder, worktrees } = fixture
    git('checkout', '--quiet', '-b', 'other')
    fixture.write('a.txt', 'other\n')
    const other = fixture.commitAll('other')
    git('checkout', '--quiet', 'main')
    fixture.write('a.txt', 'main\n')
    fixture.commitAll('main')
    expect(() => git('merge', 'other')).toThrow()
    expect(await repository.inspect()).toMatchObject({
      operation: 'merge',
      notes: [expect.any(String), expect.any(String)],
    })
    await repository.openWorktree({ id: ID })
    git('merge', '--abort')
    git('checkout', '--quiet', '--detach', other)
    const detached = await repository.inspect()
    expect(detached.branch).toBeUndefined()
    expect(detached).toMatchObject({ head: other, notes: [expect.stringContaining('HEAD is detached')] })
    const linked = join(folder, 'linked')
    git('worktree', 'add', '--quiet', '-b', 'side', linked)
    const inLinked = open({ workspace: linked, worktrees })
    expect(await inLinked.inspect()).toMatchObject({ branch: 'side', features: ['linked'] })
    expect((await inLinked.openWorktree({ id: { ...ID, name: 'two' } })).base).toBe(other)
  })

  test('GT10 submodules are empty, LFS files are pointers, and both are said', async () => {
    const { repository, git, folder } = fixture
    execFileSync('git', ['clone', '--quiet', fixture.top, join(folder, 'library')])
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', join(folder, 'library'), 'lib')
    fixture.write('deep/.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n')
    fixture.write('deep/big.bin', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n')
    git('config', 'filter.lfs.smudge', 'exit 1')
    git('config', 'filter.lfs.required', 'true')
    git('-c', 'filter.lfs.clean=cat', 'add', '--all')
    git('-c', 'filter.lfs.clean=cat', 'commit', '--quiet', '--message', 'special')
    const { submodules, features, notes } = await repository.inspect()
    expect({ submodules, features }).toEqual({ submodules: ['lib'], features: ['lfs'] })
    expect(notes).toHaveLength(2)
    const { path } = await repository.openWorktree({ id: ID })
    expect(readdirSync(join(path, 'lib'))).toEqual([])
    expect(readFileSync(join(path, 'deep/big.bin'), 'utf8')).toContain('git-lfs')
    expect((await repository.changes({ id: ID })).files).toEqual([])
  })

  test('GT10 a sparse checkout stays sparse, and files written outside of it are kept', async () => {
    const { repository, git, top } = fixture
    git('sparse-checkout', 'set', '--cone', 'nothing')
    expect(existsSync(join(top, 'deep'))).toBe(false)
    expect(await repository.inspect()).toMatchObject({ features: ['sparse'], files: 2 })
    const { path } = await repository.openWorktree({ id: ID })
    expect(existsSync(join(path, 'deep'))).toBe(false)
    expect((await repository.changes({ id: ID })).files).toEqual([])
    mkdirSync(join(path, 'deep'))
    writeFileSync(join(path, 'deep/new.txt'), 'new\n')
    const { files } = await repository.commit({ id: ID, message: 'Add' })
    expect(files).toEqual([{ path: 'deep/new.txt', change: 'created', type: 'file' }])
  })

  test('GT10 a shallow clone works', async () => {
    const { folder, top, worktrees } = fixture
    fixture.write('a.txt', 'second\n')
    fixture.commitAll('second')
    execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${top}`, join(folder, 'shallow')])
    const repository = open({ workspace: join(folder, 'shallow'), worktrees })
    expect((await repository.inspect()).features).toEqual(['shallow'])
    const { path } = await repository.openWorktree({ id: ID })
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('second\n')
  })
})
