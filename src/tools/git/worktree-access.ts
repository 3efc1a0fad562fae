import { readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findGitFolder } from '../files/git-hooks.ts'
import { commonFolder, findWorkingTree } from './git-files.ts'
import { isPackagesFolder } from './worktree-place.ts'

/**
 * The paths outside of a worktree that commands in it can read: its repository, so that `git status` and `git diff` work, and the packages of the
 * checkout. They cannot write them: Troupe makes the commits. To be asked for each command: the checkout may change between two of them.
 */
export function readPathsOfWorktree(folder: string): string[] {
  const top = findWorkingTree(folder)
  const git = top && findGitFolder(top)
  if (top === undefined || git === undefined) return []
  return [commonFolder(git), ...packagePaths(join(dirname(dirname(top)), 'node_modules'))]
}

/** The link to the packages of the checkout, and its target. */
function packagePaths(link: string): string[] {
  try {
    const target = readlinkSync(link)
    return isPackagesFolder(target) ? [link, target] : []
  } catch {
    return []
  }
}
