import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRepository } from '../../src/tools/git/git-repository.ts'
import type { GitFixture } from '../support/git-fixture.ts'
import { createGitFixture } from '../support/git-fixture.ts'

const CLI = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
let fixture: GitFixture
beforeEach(() => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\n')
  fixture.commitAll('first')
})
afterEach(() => fixture.remove())

interface Report {
  checks: { name: string; status: string; message: string; hint: string }[]
}

function doctor(): Report['checks'] {
  const { folder, top } = fixture
  const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), XDG_STATE_HOME: folder }
  const { stdout } = spawnSync(process.execPath, [CLI, 'doctor', '--json'], { cwd: top, env, encoding: 'utf8' })
  return (JSON.parse(stdout) as Report).checks.filter(({ name }) => name === 'worktree')
}

test('GT31 `troupe doctor` names worktrees that a run left behind, and how to continue or remove them', async () => {
  const { folder, top } = fixture
  expect(doctor()).toEqual([])
  const worktrees = join(folder, 'troupe/worktrees')
  const repository = createRepository({ workspace: top, worktrees, home: folder, path: process.env.PATH ?? '' })
  const { path, branch } = await repository.openWorktree({ id: { run_id: 'run_1', name: 'one' } })
  writeFileSync(join(path, 'b.txt'), 'two\n')
  const [check, ...more] = doctor()
  expect(more).toEqual([])
  expect(check).toMatchObject({ status: 'warning' })
  expect(check?.message).toContain(
    `${path} of run run_1 (not in this store) was left behind: 0 commits, 1 file not committed`,
  )
  expect(check?.hint).toBe(`to remove it: git worktree remove --force '${path}' && git branch -D ${branch}`)
})
