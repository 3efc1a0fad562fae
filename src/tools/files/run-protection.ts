import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { isWithin, resolveRealPath } from './protected-paths.ts'
import type { Workspace } from './workspace.ts'

/*
 * The files that a run was configured by are protected from its own agents. Their paths are recorded with the run, so that a process that
 * resumes it protects them, too. A journal may be forged: a recorded path only ever adds protection.
 */

/** Bounds the journal, and the mounts of the sandbox. */
const MAX_PATHS = 500

/** The protected paths inside a workspace, as paths from it: each with the symlink that names it, and its target. */
export function pathsInWorkspace({ realPath }: Workspace, protect: readonly string[]): string[] {
  const absolute = protect.map((path) => resolve(realPath, path))
  const named = absolute.flatMap((path) => [
    join(resolveRealPath(dirname(path)), basename(path)),
    resolveRealPath(path),
  ])
  const inside = named.filter((path) => path !== realPath && isWithin(path, realPath))
  return [...new Set(inside.map((path) => relative(realPath, path)))].slice(0, MAX_PATHS)
}

/** Adds recorded paths to those that agents cannot write; ignores paths outside the workspace. */
export function addProtectedPaths(workspace: Workspace, recorded: unknown): void {
  const { realPath, protect } = workspace
  const listed: unknown[] = Array.isArray(recorded) ? recorded : []
  const paths = listed.filter((path): path is string => typeof path === 'string' && isPathInside(path))
  const added = paths.slice(0, MAX_PATHS).map((path) => resolve(realPath, path))
  workspace.protect = [...new Set([...(protect ?? []), ...added.filter((path) => path !== realPath)])]
}

function isPathInside(path: string): boolean {
  return path !== '' && !path.includes('\0') && !isAbsolute(path) && !path.split(/[\\/]/).includes('..')
}
