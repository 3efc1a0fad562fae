import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GitFixture } from '../../../test/support/git-fixture.ts'
import { createGitFixture } from '../../../test/support/git-fixture.ts'
import { createRepository } from './git-repository.ts'
import type { Worktree } from './repository.ts'

let fixture: GitFixture
beforeEach(() => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\ntwo\nthree\n')
  fixture.write('src/index.ts', 'export {}\n')
  fixture.write('.gitignore', 'ignored/\nnode_modules/\n')
  fixture.commitAll('first')
})
afterEach(() => fixture.remove())

const ID = { run_id: 'run_1', name: 'task-1' }
const OTHER = { run_id: 'run_1', name: 'task-2' }
const write = ({ path }: Worktree, file: string, content: string) => {
  mkdirSync(dirname(join(path, file)), { recursive: true })
  writeFileSync(join(path, file), content)
}

describe('worktrees', () => {
  test('GT1 a worktree is outside of the checkout, on its own branch, and the same when opened again', async () => {
    const { repository, git, top, worktrees } = fixture
    const worktree = await repository.openWorktree({ id: ID })
    expect(worktree.path.startsWith(`${worktrees}/`)).toBe(true)
    expect(worktree).toMatchObject({
      branch: 'troupe/run_1/task-1',
      base: git('rev-parse', 'HEAD'),
      workspace: worktree.path,
    })
    expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n')
    write(worktree, 'a.txt', 'changed\n')
    expect(await repository.openWorktree({ id: ID })).toEqual(worktree)
    expect(readFileSync(join(worktree.path, 'a.txt'), 'utf8')).toBe('changed\n')
    expect(readFileSync(join(top, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n')
  })

  test('GT1 a worktree begins at `base`, and continues its branch after its folder was removed', async () => {
    const { repository, git } = fixture
    const base = git('rev-parse', 'HEAD')
    fixture.write('a.txt', 'second\n')
    fixture.commitAll('second')
    const worktree = await repository.openWorktree({ id: ID, base })
    expect(worktree.base).toBe(base)
    write(worktree, 'new.txt', 'new\n')
    const { head } = await repository.commit({ id: ID, message: 'Add a file' })
    await repository.removeWorktree({ id: ID, branch: 'keep' })
    expect(existsSync(worktree.path)).toBe(false)
    expect(await repository.openWorktree({ id: ID })).toMatchObject({ base, head })
    expect((await repository.changes({ id: ID })).files).toEqual([{ path: 'new.txt', change: 'created', type: 'file' }])
  })

  test('GT2 nothing of the checkout changes', async () => {
    const { repository, git } = fixture
    fixture.write('a.txt', 'stashed\n')
    git('stash')
    git('tag', 'v1')
    git('branch', 'feature')
    fixture.write('a.txt', 'staged\n')
    git('add', 'a.txt')
    fixture.write('a.txt', 'and changed again\n')
    fixture.write('untracked.txt', 'untracked\n')
    const before = fixture.fingerprint()
    await repository.inspect()
    const one = await repository.openWorktree({ id: ID })
    const two = await repository.openWorktree({ id: OTHER })
    write(one, 'src/one.ts', 'export const one = 1\n')
    write(two, 'src/index.ts', 'export const two = 2\n')
    await repository.changes({ id: ID })
    await repository.commit({ id: ID, message: 'One' })
    await repository.commit({ id: OTHER, message: 'Two' })
    await repository.merge({ into: ID, theirs: two.branch, message: 'Merge two' })
    await repository.leftovers()
    for (const id of [ID, OTHER]) await repository.removeWorktree({ id, branch: 'delete' })
    expect(fixture.fingerprint()).toEqual(before)
    expect(git('status', '--short')).toBe('MM a.txt\n?? untracked.txt')
  })

  test('GT4 removing keeps the branch or deletes it, and does nothing the second time', async () => {
    const { repository, git } = fixture
    const { path } = await repository.openWorktree({ id: ID })
    await repository.removeWorktree({ id: ID, branch: 'keep' })
    expect(git('branch', '--list', 'troupe/*')).toContain('troupe/run_1/task-1')
    for (let count = 0; count < 2; count += 1) await repository.removeWorktree({ id: ID, branch: 'delete' })
    expect(git('branch', '--list', 'troupe/*')).toBe('')
    expect(git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
    expect(existsSync(dirname(path))).toBe(false)
  })

  test('GT5 a folder that somebody deleted is reported, and opened again on its branch', async () => {
    const { repository } = fixture
    const worktree = await repository.openWorktree({ id: ID })
    write(worktree, 'kept.txt', 'kept\n')
    await repository.commit({ id: ID, message: 'Keep' })
    rmSync(worktree.path, { recursive: true })
    await expect(repository.commit({ id: ID, message: 'More' })).rejects.toMatchObject({
      message: expect.stringContaining('is gone: the folder was removed while the run used it'),
      hint: expect.stringContaining("on the branch 'troupe/run_1/task-1'"),
    })
    await repository.openWorktree({ id: ID })
    expect(readFileSync(join(worktree.path, 'kept.txt'), 'utf8')).toBe('kept\n')
  })

  test('GT6 a name that leaves the folder or that git does not accept is rejected', async () => {
    for (const name of ['../x', 'a/b', '', '.git', 'a..b', 'a.lock', '-x', 'x'.repeat(200), 'a b', 'a\n'])
      await expect(fixture.repository.openWorktree({ id: { run_id: 'run_1', name } })).rejects.toMatchObject({
        code: 'invalid_input',
      })
    await expect(
      fixture.repository.removeWorktree({ id: { run_id: '..', name: 'x' }, branch: 'delete' }),
    ).rejects.toThrow('`run_id` of a worktree is invalid')
  })

  test('GT7 the workspace may be a subfolder of the repository', async () => {
    const { top, worktrees, folder } = fixture
    const repository = createRepository({
      workspace: join(top, 'src'),
      worktrees,
      home: folder,
      path: process.env.PATH ?? '',
    })
    const { path, workspace } = await repository.openWorktree({ id: ID })
    expect(workspace).toBe(join(path, 'src'))
    expect(existsSync(join(workspace, 'index.ts'))).toBe(true)
  })

  test('GT8 a program in a worktree finds the packages of the checkout', async () => {
    fixture.write('node_modules/greeting/index.js', 'module.exports = "hello"')
    const { path } = await fixture.repository.openWorktree({ id: ID })
    const output = execFileSync(process.execPath, ['-p', 'require("greeting")'], { cwd: path, encoding: 'utf8' })
    expect(output.trim()).toBe('hello')
    expect((await fixture.repository.changes({ id: ID })).files).toEqual([])
  })
})

describe('changes and commits', () => {
  test('GT11 changes are told apart, committed or not, and what git ignores is not among them', async () => {
    const { repository } = fixture
    fixture.write('old name.txt', 'a long enough text to be found again\n'.repeat(5))
    fixture.write('tool.sh', '#!/bin/sh\n')
    fixture.commitAll('second')
    const worktree = await repository.openWorktree({ id: ID })
    write(worktree, 'committed.txt', 'x\n')
    await repository.commit({ id: ID, message: 'One' })
    write(worktree, 'a.txt', 'changed\n')
    write(worktree, 'näher.txt', 'untracked\n')
    write(worktree, 'ignored/x', 'x')
    write(worktree, '.troupe/output/x.txt', 'x')
    rmSync(join(worktree.path, 'src/index.ts'))
    renameSync(join(worktree.path, 'old name.txt'), join(worktree.path, 'new\tname.txt'))
    chmodSync(join(worktree.path, 'tool.sh'), 0o755)
    symlinkSync('../../etc/passwd', join(worktree.path, 'link'))
    const { files, skipped } = await repository.changes({ id: ID })
    expect(skipped).toEqual([])
    expect(files.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      { path: 'a.txt', change: 'modified', type: 'file' },
      { path: 'committed.txt', change: 'created', type: 'file' },
      { path: 'link', change: 'created', type: 'link', target: '../../etc/passwd' },
      { path: 'new\tname.txt', change: 'renamed', from: 'old name.txt', type: 'file' },
      { path: 'näher.txt', change: 'created', type: 'file' },
      { path: 'src/index.ts', change: 'deleted', type: 'file' },
      { path: 'tool.sh', change: 'modified', type: 'executable', mode_only: true },
    ])
    const { head } = await repository.commit({ id: ID, message: 'Two' })
    expect((await repository.commit({ id: ID, message: 'Two' })).head).toBe(head)
    expect((await repository.changes({ id: ID })).files).toHaveLength(7)
  })

  test('GT11 the global ignore file of the user applies', async () => {
    const { repository, folder } = fixture
    mkdirSync(join(folder, 'home/.config/git'), { recursive: true })
    writeFileSync(join(folder, 'home/.config/git/ignore'), '.DS_Store\n')
    const worktree = await repository.openWorktree({ id: ID })
    write(worktree, '.DS_Store', 'x')
    expect((await repository.changes({ id: ID })).files).toEqual([])
  })

  test('GT12 with `tree`, exactly what was looked at is committed', async () => {
    const { repository, git } = fixture
    const worktree = await repository.openWorktree({ id: ID })
    write(worktree, 'a.txt', 'checked\n')
    const { tree, files } = await repository.changes({ id: ID })
    write(worktree, 'a.txt', 'written later\n')
    write(worktree, 'later.txt', 'later\n')
    const commit = await repository.commit({ id: ID, message: 'Change', tree })
    expect(commit).toMatchObject({ files, skipped: [], unresolved: [] })
    expect(git('show', `${worktree.branch}:a.txt`)).toBe('checked')
    expect(git('ls-tree', '--name-only', worktree.branch).split('\n')).not.toContain('later.txt')
    expect(await repository.commit({ id: ID, message: 'Change', tree })).toEqual(commit)
    // A tree that `git gc` has removed is made again from the files.
    const missing = '0123456789'.repeat(4)
    const next = await repository.commit({ id: ID, message: 'More', tree: missing })
    expect(next.files.map(({ path }) => path)).toEqual(['a.txt', 'later.txt'])
  })

  test('GT12 the author is the user of the git config, or a neutral identity, and nothing is signed', async () => {
    const { repository, git, folder } = fixture
    git('config', 'commit.gpgSign', 'true')
    const worktree = await repository.openWorktree({ id: ID })
    write(worktree, 'b.txt', 'b\n')
    await repository.commit({ id: ID, message: 'Add b\n\nBecause.' })
    const format = '--format=%an <%ae> %G? %B'
    expect(git('log', '-1', format, worktree.branch)).toBe('Troupe agent <agent@troupe.invalid> N Add b\n\nBecause.')
    writeFileSync(join(folder, 'home/.gitconfig'), '[user]\n\tname = Grace Hopper\n\temail = grace@example.com\n')
    write(worktree, 'b.txt', 'c\n')
    await repository.commit({ id: ID, message: '' })
    expect(git('log', '-1', format, worktree.branch)).toBe('Grace Hopper <grace@example.com> N Work of an agent')
  })

  test('GT13 submodules, nested repositories, LFS files and unreadable files are left out and reported', async () => {
    const { repository, git, folder } = fixture
    execFileSync('git', ['init', '-q', join(folder, 'library')])
    execFileSync('git', [
      '-C',
      join(folder, 'library'),
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'x',
    ])
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', join(folder, 'library'), 'lib')
    fixture.write('.gitattributes', '*.bin filter=lfs\n')
    fixture.write('big.bin', 'version https://git-lfs.github.com/spec/v1\n')
    fixture.commitAll('submodule')
    const worktree = await repository.openWorktree({ id: ID })
    write(worktree, 'lib/file.ts', 'lost?\n')
    write(worktree, 'big.bin', 'real content\n')
    write(worktree, 'secret', 'x\n')
    write(worktree, 'b.txt', 'b\n')
    if (process.getuid?.() !== 0) chmodSync(join(worktree.path, 'secret'), 0)
    for (const name of ['empty', 'nested']) execFileSync('git', ['init', '-q', join(worktree.path, name)])
    execFileSync('git', [
      '-C',
      join(worktree.path, 'nested'),
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'x',
    ])
    const { files, skipped } = await repository.commit({ id: ID, message: 'All' })
    const expected = process.getuid?.() === 0 ? ['b.txt', 'secret'] : ['b.txt']
    expect(files.map(({ path }) => path)).toEqual(expected)
    const unreadable = process.getuid?.() === 0 ? [] : ['secret']
    expect(skipped.map(({ path }) => path).sort()).toEqual(['big.bin', 'lib', 'nested', 'empty', ...unreadable].sort())
    for (const { reason } of skipped) expect(reason.length).toBeGreaterThan(5)
  })
})
