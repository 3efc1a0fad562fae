import { basename, dirname, join } from 'node:path'
import { isWithin } from '../files/protected-places.ts'
import type { Workspace } from '../files/workspace.ts'
import { firstLink } from './protected-links.ts'

/**
 * What a program that lives for hours may not write: nobody can put right at its end what it did in between. So folders of
 * git are closed to it as a whole (a file made there could send git to other settings), and so are folders with a link to
 * what is protected. The root of the workspace cannot be closed: links in it are put back after each call.
 */
export function heldStill(workspace: Workspace, guarded: readonly string[]): string[] {
  const whole = new Set(
    guarded.flatMap((path) => {
      if (basename(path) === 'config.worktree') return dirname(path)
      const above = firstLink(workspace, path)?.names.slice(0, -1) ?? []
      return above.length > 0 ? join(workspace.real, ...above) : []
    }),
  )
  return [...whole, ...guarded.filter((path) => ![...whole].some((folder) => isWithin(path, folder)))]
}
