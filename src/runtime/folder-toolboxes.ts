import { existsSync } from 'node:fs'
import { TroupeError } from '../errors.ts'
import { userHome } from '../formats/user-home.ts'
import { isWithin, resolveRealPath } from '../tools/files/protected-paths.ts'
import { readPathsOfWorktree } from '../tools/git/worktree-access.ts'
import { worktreesFolder } from '../tools/git/worktree-place.ts'
import type { Toolbox } from '../tools/tools.ts'

/** The tools of the workspace, and those of each worktree, opened when they are first needed. */
export interface FolderToolboxes {
  /** Throws for a folder that is neither the workspace nor in a worktree. */
  open(folder: string): Toolbox
  /** Closes those whose path contains this part: sandboxes and language servers must not outlive a worktree. */
  closeIn(part: string): Promise<void>
}

/** They are closed with the toolbox of the workspace. */
export function createFolderToolboxes(toolbox: Toolbox): FolderToolboxes {
  const opened = new Map<string, Toolbox>()
  const closeIn = async (part: string) => {
    const inside = [...opened].filter(([path]) => `${path}/`.includes(part))
    for (const [path] of inside) opened.delete(path)
    await Promise.all(inside.map(([, each]) => each.close()))
  }
  const closeMain = toolbox.close
  toolbox.close = async () => {
    await closeIn('/')
    await closeMain()
  }
  const openWorktree = (folder: string) =>
    toolbox.openIn(requireWorktreeFolder(folder), () => readPathsOfWorktree(folder))
  const open = (folder: string) => {
    if (folder === toolbox.workspace.realPath) return toolbox
    const known = opened.get(folder) ?? openWorktree(folder)
    opened.set(folder, known)
    return known
  }
  return { open, closeIn }
}

/** The folder for worktrees of all repositories of this user. */
export function userWorktrees(): string {
  return worktreesFolder(process.env, userHome())
}

/** Fails closed: a session works in the workspace of the run or in a worktree, and nowhere else. */
function requireWorktreeFolder(folder: string): string {
  const real = resolveRealPath(folder)
  if (isWithin(real, resolveRealPath(userWorktrees())) && existsSync(real)) return real
  throw new TroupeError('tool_failed', `the folder of this session, '${folder}', is not there`, {
    responsible: 'operator',
    hint: 'it was a git worktree of the run; resume the run to open it again',
  })
}
