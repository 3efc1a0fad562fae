import type { Stats } from 'node:fs'
import { closeSync, constants, lstatSync, mkdirSync, openSync, readlinkSync } from 'node:fs'
import { toTroupeError } from '../../errors.ts'
import { accessDeniedError, errorCode, invalidCallError } from '../tool-errors.ts'
import type { AccessPurpose } from './check-protected.ts'
import { checkProtected } from './check-protected.ts'
import type { Workspace, WorkspacePath } from './workspace.ts'
import { outsideWorkspaceError, parseWorkspacePath, pathSegments, relativeToRoot } from './workspace.ts'

/*
 * Path resolution that is safe against path traversal and symlink races (TOCTOU), on directory descriptors.
 * 1. Each folder is opened through the descriptor of its parent with O_NOFOLLOW, so that replacing a folder by a symlink
 *    between check and use does not redirect the access.
 * 2. Symlinks are expanded here, segment by segment, and only to targets inside the workspace. `..` pops a descriptor.
 * 3. Callers open the last segment with `NO_FOLLOW`.
 */

/** On Linux, `/proc/self/fd/N` addresses an open folder even when its path is renamed or replaced meanwhile. */
const HAS_PROC_FD = process.platform === 'linux'
/** macOS: fails when any segment of the path is a symlink. */
const O_NOFOLLOW_ANY = process.platform === 'darwin' ? 0x2000_0000 : 0
const MAX_SYMLINKS = 40

export const NO_FOLLOW = constants.O_NOFOLLOW | O_NOFOLLOW_ANY

/** A path in a workspace after resolution. Valid only while its folder descriptors are open. */
export interface ResolvedPath {
  folder: string
  /** `.` when the path is the folder itself. */
  name: string
  path: string
  /** The real path from the workspace root, with all symlinks resolved. */
  segments: readonly string[]
  stat: Stats | undefined
}

interface OpenFolder {
  /** `undefined` for a folder that does not exist (see `allowMissing`). */
  fd: number | undefined
  folder: string
}

export interface ResolveRequest {
  target: WorkspacePath
  purpose: AccessPurpose
  /** Creates missing folders. */
  create?: boolean
}

/**
 * The real path of `requested` from the workspace root: the permission subject. Missing folders are allowed, for `Write`
 * may create them. A path that cannot be resolved is denied, because no rule could match it.
 */
export function resolveRelativePath(workspace: Workspace, requested: string): string {
  const openFolders: OpenFolder[] = []
  try {
    const target = parseWorkspacePath(workspace, requested)
    const request = { target, purpose: 'internal', allowMissing: true } as const
    return resolvePath(workspace, request, openFolders).segments.join('/')
  } catch (thrown) {
    const { code, message, hint } = toTroupeError(thrown)
    throw code === 'denied'
      ? thrown
      : accessDeniedError(`the path '${requested}' cannot be resolved in the workspace: ${message}`, hint)
  } finally {
    closeAllFolders(openFolders)
  }
}

/** Resolves a path, runs `work` on it while its folders are open, then closes them. */
export async function withResolvedPath<T>(
  workspace: Workspace,
  request: ResolveRequest,
  work: (resolved: ResolvedPath) => T | Promise<T>,
): Promise<T> {
  const openFolders: OpenFolder[] = []
  try {
    return await work(resolvePath(workspace, request, openFolders))
  } finally {
    closeAllFolders(openFolders)
  }
}

/**
 * Runs `work` in a folder below `root` that is held open meanwhile. Returns `undefined` when a segment is a symlink or
 * missing: following a symlink would let a sandboxed command redirect our own writes (symlink race).
 */
export function withLinkFreeFolder<T>(
  root: string,
  segments: readonly string[],
  work: (folder: string) => T,
): T | undefined {
  const openFolders: OpenFolder[] = []
  try {
    try {
      openFolders.push(openFolder(root))
      for (const name of segments) openFolders.push(openFolder(`${openFolders.at(-1)?.folder}/${name}`))
    } catch {
      return undefined
    }
    return work(openFolders.at(-1)?.folder ?? root)
  } finally {
    closeAllFolders(openFolders)
  }
}

function resolvePath(
  workspace: Workspace,
  { target, purpose, create, allowMissing }: ResolveRequest & { allowMissing?: boolean },
  openFolders: OpenFolder[],
): ResolvedPath {
  const { requested } = target
  const segments: string[] = []
  const remaining = [...target.segments]
  let symlinks = 0
  openFolders.push(openFolder(workspace.realPath))
  for (let name = remaining.shift(); name !== undefined; name = remaining.shift()) {
    if (name === '..') {
      if (segments.pop() === undefined) throw outsideWorkspaceError(requested)
      closeLastFolder(openFolders)
      continue
    }
    const folder = openFolders.at(-1)?.folder ?? ''
    const path = `${folder}/${name}`
    const stat = statIfExists(path, requested)
    if (stat?.isSymbolicLink()) {
      if (++symlinks > MAX_SYMLINKS)
        throw invalidCallError(`the path '${requested}' has a symlink loop`, 'use a path without symlinks')
      const link = readlinkSync(path)
      if (link.startsWith('/')) {
        const inside = relativeToRoot(workspace, link)
        if (inside === undefined) throw outsideWorkspaceError(requested)
        while (segments.pop() !== undefined) closeLastFolder(openFolders)
        remaining.unshift(...pathSegments(inside))
      } else remaining.unshift(...pathSegments(link))
      continue
    }
    segments.push(name)
    // Writers: before any folder is created. Readers: only for the final path.
    if (purpose === 'write' || remaining.length === 0) checkProtected(workspace, segments, purpose)
    if (remaining.length === 0) return { folder, name, path, segments, stat }
    if (stat === undefined) {
      if (allowMissing) {
        // Resolution must continue: a later `..` can lead back to an existing folder and from there through a symlink.
        openFolders.push({ fd: undefined, folder: path })
        continue
      }
      if (!create) throw notFoundError(requested)
      ensureFolder(path)
    } else if (!stat.isDirectory())
      throw invalidCallError(
        `'${segments.join('/')}' in the path '${requested}' is a file, not a folder`,
        'find existing files with Glob',
      )
    openFolders.push(openFolder(path, requested))
  }
  checkProtected(workspace, segments, purpose)
  const folder = openFolders.at(-1)?.folder ?? ''
  return { folder, name: '.', path: `${folder}/.`, segments, stat: statIfExists(`${folder}/.`, requested) }
}

function openFolder(path: string, requested?: string): OpenFolder {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | NO_FOLLOW)
    return { fd, folder: HAS_PROC_FD ? `/proc/self/fd/${fd}` : path }
  } catch (thrown) {
    if (requested !== undefined && ['ELOOP', 'ENOTDIR', 'ENOENT'].includes(errorCode(thrown)))
      throw concurrentChangeError(requested)
    throw thrown
  }
}

function closeLastFolder(openFolders: OpenFolder[]): void {
  const last = openFolders.pop()
  if (last?.fd !== undefined) closeSync(last.fd)
}

function closeAllFolders(openFolders: OpenFolder[]): void {
  while (openFolders.length > 0) closeLastFolder(openFolders)
}

function statIfExists(path: string, requested: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined
    if (errorCode(thrown) === 'ENAMETOOLONG')
      throw invalidCallError(`a name in the path '${requested}' is too long`, 'use a shorter name')
    throw thrown
  }
}

function ensureFolder(path: string): void {
  try {
    mkdirSync(path)
  } catch (thrown) {
    if (errorCode(thrown) !== 'EEXIST') throw thrown
  }
}

export function notFoundError(path: string): Error {
  return invalidCallError(`'${path}' does not exist in the workspace`, 'find existing files with Glob')
}

/** A symlink race: the path was replaced between check and use. */
export function concurrentChangeError(path: string): Error {
  return invalidCallError(`'${path}' was replaced while it was being opened`, 'try again')
}
