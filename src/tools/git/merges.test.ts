import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { GitFixture } from '../../../test/support/git-fixture.ts'
import { createGitFixture } from '../../../test/support/git-fixture.ts'
import type { Worktree } from './repository.ts'

let fixture: GitFixture
let one: Worktree
let two: Worktree
const ONE = { run_id: 'run_1', name: 'one' }
const TWO = { run_id: 'run_1', name: 'two' }
const MAIN = { run_id: 'run_1', name: 'integration' }

beforeEach(async () => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\ntwo\nthree\n')
  fixture.write('gone.txt', 'gone\n')
  fixture.write('.gitignore', 'cache/\n')
  fixture.commitAll('first')
  const { repository } = fixture
  await repository.openWorktree({ id: MAIN })
  one = await repository.openWorktree({ id: ONE })
  two = await repository.openWorktree({ id: TWO })
})
afterEach(() => fixture.remove())

const write = ({ path }: Worktree, file: string, content: string) => writeFileSync(join(path, file), content)
const read = ({ path }: Worktree, file: string) => readFileSync(join(path, file), 'utf8')

async function commitConflict(): Promise<void> {
  write(one, 'a.txt', 'one\nONE\nthree\n')
  rmSync(join(one.path, 'gone.txt'))
  write(two, 'a.txt', 'one\nTWO\nthree\n')
  write(two, 'gone.txt', 'changed\n')
  for (const id of [ONE, TWO]) await fixture.repository.commit({ id, message: id.name })
}

describe('merges', () => {
  test('GT14 a preflight returns conflicts with the base and both sides, and changes nothing', async () => {
    await commitConflict()
    const heads = fixture.git('for-each-ref')
    const { conflicts } = await fixture.repository.preflightMerge({ ours: one.branch, theirs: two.branch })
    expect(conflicts).toEqual([
      {
        path: 'a.txt',
        kind: 'contents',
        base: { text: 'one\ntwo\nthree\n' },
        ours: { text: 'one\nONE\nthree\n' },
        theirs: { text: 'one\nTWO\nthree\n' },
      },
      { path: 'gone.txt', kind: 'modify/delete', base: { text: 'gone\n' }, ours: {}, theirs: { text: 'changed\n' } },
    ])
    expect(fixture.git('for-each-ref')).toBe(heads)
    expect(read(one, 'a.txt')).toBe('one\nONE\nthree\n')
  })

  test('GT14 binary and long sides are bounded', async () => {
    write(one, 'a.txt', `${'x'.repeat(70_000)}\n`)
    write(two, 'a.txt', 'a\0b')
    for (const id of [ONE, TWO]) await fixture.repository.commit({ id, message: id.name })
    const { conflicts } = await fixture.repository.preflightMerge({ ours: one.branch, theirs: two.branch })
    expect(conflicts[0]?.ours).toMatchObject({ truncated: true })
    expect(conflicts[0]?.theirs).toEqual({ binary: true })
  })

  test('GT15 a merge updates branch and files; repeated it makes no second commit; with conflicts nothing changes', async () => {
    const { repository, git } = fixture
    await commitConflict()
    const integration = await repository.openWorktree({ id: MAIN })
    mkdirSync(join(integration.path, 'cache'))
    write(integration, 'cache/kept', 'x')
    write(integration, 'left by tests', 'x')
    const merged = await repository.merge({ into: MAIN, theirs: one.branch, message: 'Merge one' })
    expect(merged).toEqual({ merged: true, head: git('rev-parse', integration.branch) })
    expect(read(integration, 'a.txt')).toBe('one\nONE\nthree\n')
    expect([
      existsSync(join(integration.path, 'cache/kept')),
      existsSync(join(integration.path, 'left by tests')),
    ]).toEqual([true, false])
    expect(git('log', '-1', '--format=%s %p', integration.branch).split(' ')).toHaveLength(4)
    expect(await repository.merge({ into: MAIN, theirs: one.branch, message: 'Merge one' })).toEqual(merged)
    const conflict = await repository.merge({ into: MAIN, theirs: two.branch, message: 'Merge two' })
    expect(conflict).toMatchObject({ merged: false, conflicts: [{ path: 'a.txt' }, { path: 'gone.txt' }] })
    expect(git('rev-parse', integration.branch)).toBe('head' in merged ? merged.head : '')
    expect(git('status', '--short')).toBe('')
  })

  test('GT16 an agent resolves a merge: markers in the files, both parents, no commit while markers are left', async () => {
    const { repository, git } = fixture
    await commitConflict()
    await repository.merge({ into: MAIN, theirs: one.branch, message: 'Merge one' })
    const request = { into: TWO, theirs: 'troupe/run_1/integration', message: 'Merge' }
    for (let count = 0; count < 2; count += 1)
      expect(await repository.startMerge(request)).toMatchObject({ merged: false, conflicts: [{ path: 'a.txt' }, {}] })
    expect(read(two, 'a.txt')).toMatch(/^<{7} .*\nTWO\n={7}\nONE\n>{7} /m)
    const head = git('rev-parse', two.branch)
    expect(await repository.commit({ id: TWO, message: 'Resolve' })).toMatchObject({ head, unresolved: ['a.txt'] })
    write(two, 'a.txt', 'one\nONE TWO\nthree\n')
    const { unresolved } = await repository.commit({ id: TWO, message: 'Resolve' })
    expect(unresolved).toEqual([])
    expect(git('log', '-1', '--format=%P', two.branch).split(' ')).toHaveLength(2)
    expect(await repository.merge({ into: MAIN, theirs: two.branch, message: 'Merge two' })).toMatchObject({
      merged: true,
    })
  })

  test('GT22 commits are read as they are, whatever the worktree holds', async () => {
    const { repository } = fixture
    write(one, 'a.txt', 'committed\n')
    write(one, 'binary', 'a\0b')
    await repository.commit({ id: ONE, message: 'One' })
    write(one, 'a.txt', 'not committed\n')
    expect(await repository.listFiles(one.branch)).toEqual(['.gitignore', 'a.txt', 'binary', 'gone.txt'])
    expect(await repository.readFile({ ref: one.branch, path: 'a.txt' })).toBe('committed\n')
    expect(await repository.readFile({ ref: one.branch, path: 'binary' })).toBeUndefined()
    expect(await repository.readFile({ ref: one.branch, path: 'missing' })).toBeUndefined()
    const { text, truncated } = await repository.diff({ from: one.base, to: one.branch, max_chars: 10_000 })
    expect(text).toContain('-one\n-two\n-three\n+committed')
    expect(truncated).toBe(false)
    expect(await repository.diff({ from: one.base, to: one.branch, max_chars: 20 })).toMatchObject({ truncated: true })
    await expect(repository.readFile({ ref: 'nowhere', path: 'a.txt' })).rejects.toThrow(
      "'nowhere' is no commit or branch",
    )
  })

  test('GT23 paths are restored to `base`, new files removed, and no link is followed', async () => {
    const { repository, folder } = fixture
    mkdirSync(join(folder, 'outside'))
    writeFileSync(join(folder, 'outside/file'), 'precious')
    write(one, 'a.txt', 'changed\n')
    rmSync(join(one.path, 'gone.txt'))
    write(one, 'new.txt', 'new\n')
    write(one, 'kept.txt', 'kept\n')
    symlinkSync(join(folder, 'outside'), join(one.path, 'link'))
    await repository.commit({ id: ONE, message: 'One' })
    await repository.restorePaths({
      id: ONE,
      base: one.base,
      paths: ['a.txt', 'gone.txt', 'new.txt', 'link/file', '*'],
    })
    expect([read(one, 'a.txt'), read(one, 'gone.txt'), read(one, 'kept.txt')]).toEqual([
      'one\ntwo\nthree\n',
      'gone\n',
      'kept\n',
    ])
    expect(existsSync(join(one.path, 'new.txt'))).toBe(false)
    expect(readFileSync(join(folder, 'outside/file'), 'utf8')).toBe('precious')
    await repository.discardChanges(ONE)
    expect(read(one, 'a.txt')).toBe('changed\n')
  })
})
