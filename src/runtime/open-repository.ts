import { userHome } from '../formats/user-home.ts'
import { createRepository } from '../tools/git/git-repository.ts'
import type { Repository } from '../tools/git/repository.ts'
import { hostProgramPath } from '../tools/sandbox/trusted-path.ts'
import { userWorktrees } from './folder-toolboxes.ts'

/** The repository of a folder, with worktrees in the user's state folder. */
export function openRepository(workspace: string): Repository {
  const worktrees = userWorktrees()
  return createRepository({ workspace, worktrees, home: userHome(), path: hostProgramPath([workspace, worktrees]) })
}
