import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findProgram } from '../../src/tools/search/ripgrep.ts'
import type { GitFixture } from '../support/git-fixture.ts'
import { createGitFixture } from '../support/git-fixture.ts'

/*
 * Real processes and a real `kill -9`: a program named `git` counts the commands and kills the process that started it, before the command, so that
 * the command runs without its parent (`orphan`) or not at all (`stop`).
 */

const CHILD = fileURLToPath(new URL('worktree-child.ts', import.meta.url))
let fixture: GitFixture
let programs = ''
let counter = ''

beforeEach(() => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\n')
  fixture.commitAll('first')
  programs = join(fixture.folder, 'programs')
  counter = join(fixture.folder, 'counter')
  mkdirSync(programs)
})
afterEach(() => fixture.remove())

function installGit(killAt: number, mode: 'orphan' | 'stop'): void {
  const real = findProgram('git')
  writeFileSync(counter, '0')
  const script = `#!/bin/sh
count=$(($(cat '${counter}') + 1))
echo $count > '${counter}'
if [ $count = ${killAt} ]; then kill -9 $PPID; ${mode === 'stop' ? 'exit 1' : ''}
fi
exec '${real}' "$@"
`
  rmSync(join(programs, 'git'), { force: true })
  writeFileSync(join(programs, 'git'), script, { mode: 0o755 })
}

/** Runs the child; returns the signal that ended it. */
function runChild(end: string): string | null {
  const path = `${programs}:${process.env.PATH}`
  const args = [CHILD, fixture.top, fixture.worktrees, join(fixture.folder, 'home'), path, end]
  const { signal, status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (signal === null && status !== 0) throw new Error(stderr)
  return signal
}

function reset(): void {
  const refs = fixture.git('for-each-ref', '--format=%(refname)', 'refs/heads/troupe').split('\n').filter(Boolean)
  for (const ref of refs) fixture.git('update-ref', '-d', ref)
}

/** Every n-th command; `TROUPE_STRESS=1` tries all of them. */
const STRIDE = process.env.TROUPE_STRESS === '1' ? 1 : 19

test('GT17 killed at any git command, the same operations complete, and nothing else is left behind', async () => {
  const before = fixture.fingerprint()
  installGit(0, 'stop')
  const end = join(fixture.folder, 'end')
  expect(runChild(end)).toBeNull()
  const expected = readFileSync(end, 'utf8')
  expect(expected).toBe('a.txt\nsrc/one.txt')
  const total = Number(readFileSync(counter, 'utf8'))
  expect(total).toBeGreaterThan(30)
  reset()
  expect(fixture.fingerprint()).toEqual(before)
  for (let killAt = 1; killAt <= total; killAt += STRIDE) {
    for (const mode of ['stop', 'orphan'] as const) {
      rmSync(end, { force: true })
      installGit(killAt, mode)
      expect(runChild(end), `killed at command ${killAt}`).toBe('SIGKILL')
      expect(existsSync(end)).toBe(false)
      installGit(0, 'stop')
      expect(runChild(end), `again after ${killAt} (${mode})`).toBeNull()
      expect(readFileSync(end, 'utf8'), `result after ${killAt} (${mode})`).toBe(expected)
      expect(fixture.git('branch', '--list', 'troupe/*', '--format=%(refname:short)')).toBe('troupe/run_1/result')
      expect(fixture.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
      expect(existsSync(fixture.worktrees) ? readdirSync(fixture.worktrees) : []).toEqual([])
      reset()
      expect(fixture.fingerprint(), `checkout after ${killAt} (${mode})`).toEqual(before)
      execFileSync('git', ['-C', fixture.top, 'fsck', '--no-progress'], { stdio: 'pipe' })
    }
  }
}, 600_000)
