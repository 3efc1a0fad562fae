import type { WorktreeId } from '../../kernel/worktree.ts'
import type { WorktreeScope } from './worktrees.ts'
import { requireCommit, requireWorktree } from './worktrees.ts'

/** Reads of commits, and files of a worktree as a commit has them. */

const MAX_FILE_BYTES = 1_000_000

export async function listFiles(scope: WorktreeScope, ref: string): Promise<string[]> {
  const { git } = scope
  const args = ['ls-tree', '-r', '-z', '--name-only', '--full-tree', await requireCommit(scope, ref)]
  return splitNul(await git.text(args))
}

export async function readFileAt(
  scope: WorktreeScope,
  { ref, path }: { ref: string; path: string },
): Promise<string | undefined> {
  const { git } = scope
  const name = `${await requireCommit(scope, ref)}:${path}`
  const size = await git.run(['cat-file', '-s', name], { statuses: [0, 128] })
  if (size.status !== 0 || Number(size.stdout.toString('utf8')) > MAX_FILE_BYTES) return undefined
  const { status, stdout } = await git.run(['cat-file', 'blob', name], { statuses: [0, 128] })
  return status !== 0 || stdout.includes(0) ? undefined : stdout.toString('utf8')
}

export async function diffCommits(
  scope: WorktreeScope,
  { from, to, max_chars }: { from: string; to: string; max_chars: number },
): Promise<{ text: string; truncated: boolean }> {
  const { git } = scope
  const commits = [await requireCommit(scope, from), await requireCommit(scope, to)]
  const text = await git.text([
    'diff-tree',
    '-r',
    '-p',
    '-M',
    '--no-color',
    '--no-ext-diff',
    '--no-textconv',
    ...commits,
  ])
  return { text: text.slice(0, max_chars), truncated: text.length > max_chars }
}

/** Git removes the files itself: it never follows a link on the way to them (symlink race). */
export async function restorePaths(
  scope: WorktreeScope,
  { id, base, paths }: { id: WorktreeId; base: string; paths: readonly string[] },
): Promise<void> {
  const { git } = scope
  const place = requireWorktree(scope, id)
  const commit = await requireCommit(scope, base)
  const existing = new Set(await listFiles(scope, commit))
  const options = { worktree: place.path }
  const pathsFromInput = ['--pathspec-from-file=-', '--pathspec-file-nul']
  const restored = paths.filter((path) => existing.has(path))
  const removed = paths.filter((path) => !existing.has(path))
  if (removed.length > 0) {
    const input = removed.map((path) => `${path}\0`).join('')
    await git.run(['update-index', '--force-remove', '-z', '--stdin'], { ...options, input })
    for (const path of removed)
      await git.run(['--literal-pathspecs', 'clean', '-f', '-d', '-x', '-q', '--', path], options)
  }
  if (restored.length > 0) {
    const args = ['--literal-pathspecs', 'restore', `--source=${commit}`, '--staged', '--worktree', ...pathsFromInput]
    await git.run(args, { ...options, input: restored.map((path) => `${path}\0`).join('') })
  }
}

function splitNul(text: string): string[] {
  return text.split('\0').filter((part) => part !== '')
}
