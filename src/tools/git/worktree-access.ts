import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { findGitFolder } from '../files/git-hooks.ts'
import { resolveRealPath } from '../files/protected-paths.ts'

/**
 * The paths outside of a worktree that commands in it can read: its repository, so that `git status` and `git diff` work, and the packages of the
 * checkout. They cannot write them: Troupe makes the commits.
 */
export function readPathsOfWorktree(folder: string): string[] {
  const top = topFolder(folder)
  const git = top && findGitFolder(top)
  if (top === undefined || git === undefined) return []
  const packages = join(dirname(dirname(top)), 'node_modules')
  return [commonFolder(git), ...(existsSync(packages) ? [packages, resolveRealPath(packages)] : [])]
}

function topFolder(folder: string): string | undefined {
  if (existsSync(join(folder, '.git'))) return folder
  const parent = dirname(folder)
  return parent === folder ? undefined : topFolder(parent)
}

function commonFolder(git: string): string {
  try {
    return resolve(git, readFileSync(join(git, 'commondir'), 'utf8').trim())
  } catch {
    return git
  }
}
