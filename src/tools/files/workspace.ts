import { lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { TroupeError } from '../../errors.ts'
import { accessDeniedError } from '../tool-errors.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import type { ProtectionRules } from './protected-paths.ts'
import { isWithin, resolveRealPath } from './protected-paths.ts'

/** The folder that all tools of a run are confined to. */
export interface Workspace extends ProtectionRules {
  /** All absolute paths that lead to it, the real path first. */
  knownPaths: readonly string[]
}

/** Opens a folder as a workspace and creates `.troupe` in it. Hidden paths are protected from writing as well. */
export function openWorkspace(
  folder: string,
  protect: readonly string[] = [],
  hide: readonly string[] = [],
): Workspace {
  const absolute = resolve(folder)
  const realPath = resolveFolder(absolute)
  if (realPath === '/') {
    throw new TroupeError('invalid_input', 'the workspace cannot be the root of the file system', {
      hint: 'pass the project folder with --workspace, or with --repo for a build',
    })
  }
  ensureTroupeFolder(realPath)
  const knownPaths = realPath === absolute ? [realPath] : [realPath, absolute]
  const hidden = hide.map((path) => resolve(realPath, path)).flatMap((path) => [path, resolveRealPath(path)])
  const protectedPaths = [...protect.map((path) => resolve(realPath, path)), ...hidden]
  return {
    realPath,
    knownPaths,
    protect: protectedPaths,
    hide: [...new Set(hidden)].filter((path) => isWithin(path, realPath)),
  }
}

function resolveFolder(path: string): string {
  const hint = 'pass an existing folder with --workspace, with --repo for a build, or with `workspace.workspace`'
  try {
    const real = realpathSync(path)
    if (statSync(real).isDirectory()) return real
  } catch (cause) {
    throw new TroupeError('invalid_input', `the workspace '${path}' cannot be opened: ${(cause as Error).message}`, {
      hint,
      cause,
    })
  }
  throw new TroupeError('invalid_input', `the workspace '${path}' is not a folder`, { hint })
}

/** Symlink attack: `.troupe` must be a real folder before any command runs, or a command could create it as a symlink. */
function ensureTroupeFolder(realPath: string): void {
  const folder = join(realPath, TROUPE_FOLDER)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch {
    // It exists or cannot be created; the check below decides.
  }
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  if (stat?.isDirectory()) return
  throw new TroupeError('invalid_input', `'${folder}' is not a folder`, {
    hint: stat ? 'rename or remove it' : 'make the workspace writable',
  })
}

/** A requested path as segments below the workspace. `..` is kept: its meaning depends on symlinks (see `resolvePath`). */
export interface WorkspacePath {
  segments: readonly string[]
  /** As the caller spelled it, for messages. */
  requested: string
}

export function parseWorkspacePath(workspace: Workspace, requested: string): WorkspacePath {
  const displayed = requested === '' ? '.' : requested
  if (requested.includes('\0')) throw accessDeniedError('`path` or `file_path` contains a NUL character', 'remove it')
  if (requested.length > 4096)
    throw accessDeniedError('`path` or `file_path` is longer than 4096 characters', 'use a shorter path')
  if (/^~($|[\\/])/.test(requested)) {
    throw accessDeniedError(
      `the path '${displayed}' is in a home folder, which is outside the workspace`,
      'use a path inside the workspace',
    )
  }
  const inside = requested.startsWith('/') ? relativeToRoot(workspace, requested) : requested
  if (inside === undefined) throw outsideWorkspaceError(displayed)
  return { segments: pathSegments(inside), requested: displayed }
}

export function outsideWorkspaceError(path: string): Error {
  return accessDeniedError(`'${path}' is outside the workspace`, 'use a path relative to the workspace')
}

/** The part of an absolute path below the workspace; `undefined` when it is outside. */
export function relativeToRoot(workspace: Workspace, absolute: string): string | undefined {
  for (const root of workspace.knownPaths) {
    if (absolute === root) return ''
    const prefix = root.endsWith('/') ? root : `${root}/`
    if (absolute.startsWith(prefix)) return absolute.slice(prefix.length)
  }
  return undefined
}

export function pathSegments(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}
