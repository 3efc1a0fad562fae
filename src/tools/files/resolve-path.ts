import type { Stats } from 'node:fs'
import { closeSync, constants, lstatSync, mkdirSync, openSync, readlinkSync } from 'node:fs'
import { toTroupeError } from '../../errors.ts'
import { accessDeniedError, errorCode, invalidCallError } from '../tool-errors.ts'
import type { AccessPurpose } from './check-protected.ts'
import { checkProtected } from './check-protected.ts'
import type { Workspace } from './workspace.ts'
import type { WorkspacePath } from './workspace-path.ts'
import { outsideWorkspaceError, parseWorkspacePath, pathSegments, relativeToRoot } from './workspace-path.ts'

/*
 * The way from the root of a workspace to a place in it, on descriptors.
 * 1. Each folder is opened through the descriptor of the one above it, never following a link, so that swapping a folder
 *    for a link between two looks leads nowhere else.
 * 2. Links are followed by us, name by name, and only to places inside the workspace. `..` goes back along descriptors.
 * 3. Whoever uses the spot opens its last name without following links.
 */

/** Reaches into an open folder by its descriptor; what happens to the folder's name meanwhile does not matter. */
const HAS_PROC_FD = process.platform === 'linux'
/** macOS: no name on the way may be a link. */
const O_NOFOLLOW_ANY = process.platform === 'darwin' ? 0x2000_0000 : 0
const MAX_LINKS = 40

export const NO_FOLLOW = constants.O_NOFOLLOW | O_NOFOLLOW_ANY

/** A place in a workspace, reached: `${folder}/${name}` is good while the work on it lasts. */
export interface ResolvedPath {
  folder: string
  /** `.` for a folder that was reached as such. */
  name: string
  path: string
  /** The names from the root after all links: what the place really is. */
  segments: readonly string[]
  stat: Stats | undefined
}

interface OpenFolder {
  /** None for a folder that is not there and only thought of. */
  fd: number | undefined
  folder: string
}

export interface ResolveOptions {
  purpose: AccessPurpose
  /** Make the folders that are missing on the way. */
  create?: boolean
}

/**
 * Where a path leads, as names from the root, also through folders that are not there yet. Only for judging it: what leads
 * nowhere is refused, for no rule could be held against it.
 */
export function resolveRelativePath(workspace: Workspace, requested: string): string {
  const steps: OpenFolder[] = []
  try {
    const place = parseWorkspacePath(workspace, requested)
    return resolvePath(workspace, place, { purpose: 'internal' }, steps, true).segments.join('/')
  } catch (thrown) {
    const { code, message, hint } = toTroupeError(thrown)
    throw code === 'denied'
      ? thrown
      : accessDeniedError(`'${requested}' leads to no place in the workspace: ${message}`, hint)
  } finally {
    while (steps.length > 0) closeLastFolder(steps)
  }
}

/** Goes down to a place, does the work there, and closes what was opened on the way. */
export async function withResolvedPath<T>(
  workspace: Workspace,
  place: WorkspacePath,
  options: ResolveOptions,
  work: (spot: ResolvedPath) => T | Promise<T>,
): Promise<T> {
  const steps: OpenFolder[] = []
  try {
    const spot = resolvePath(workspace, place, options, steps)
    return await work(spot)
  } finally {
    while (steps.length > 0) closeLastFolder(steps)
  }
}

/**
 * Works in a folder that is reached from a root without a single link, and is held open meanwhile. Where the way leads
 * through a link, or nowhere, nothing is done: what is there is not what was meant.
 */
export function withLinkFreeFolder<T>(
  root: string,
  names: readonly string[],
  work: (folder: string) => T,
): T | undefined {
  const steps: OpenFolder[] = []
  try {
    try {
      steps.push(openFolder(root))
      for (const name of names) steps.push(openFolder(`${steps.at(-1)?.folder}/${name}`))
    } catch {
      return undefined
    }
    return work(steps.at(-1)?.folder ?? root)
  } finally {
    while (steps.length > 0) closeLastFolder(steps)
  }
}

function resolvePath(
  workspace: Workspace,
  place: WorkspacePath,
  options: ResolveOptions,
  steps: OpenFolder[],
  pretend = false,
): ResolvedPath {
  const segments: string[] = []
  const ahead = [...place.segments]
  let links = 0
  steps.push(openFolder(workspace.realPath))
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === '..') {
      if (segments.pop() === undefined) throw outsideWorkspaceError(place.shown)
      closeLastFolder(steps)
      continue
    }
    const folder = steps.at(-1)?.folder ?? ''
    const path = `${folder}/${name}`
    const stat = statIfExists(path, place)
    if (stat?.isSymbolicLink()) {
      if (++links > MAX_LINKS) throw invalidCallError(`'${place.shown}' goes through links that lead to each other`)
      const target = readlinkSync(path)
      if (target.startsWith('/')) {
        const inside = relativeToRoot(workspace, target)
        if (inside === undefined) throw outsideWorkspaceError(place.shown)
        while (segments.pop() !== undefined) closeLastFolder(steps)
        ahead.unshift(...pathSegments(inside))
      } else ahead.unshift(...pathSegments(target))
      continue
    }
    segments.push(name)
    // For a writer, before folders are made on the way; for a reader only where the way ends.
    if (options.purpose === 'write' || ahead.length === 0) checkProtected(workspace, segments, options.purpose)
    if (ahead.length === 0) return { folder, name, path, segments, stat }
    if (stat === undefined) {
      if (pretend) {
        // Not the end: `..` may lead back to what is there, and from there through a link.
        steps.push({ fd: undefined, folder: path })
        continue
      }
      if (!options.create) throw notFoundError(place)
      ensureFolder(path)
    } else if (!stat.isDirectory()) throw invalidCallError(`'${segments.join('/')}' is a file, not a folder`)
    steps.push(openFolder(path, place))
  }
  checkProtected(workspace, segments, options.purpose)
  const folder = steps.at(-1)?.folder ?? ''
  return { folder, name: '.', path: `${folder}/.`, segments, stat: statIfExists(`${folder}/.`, place) }
}

function openFolder(path: string, place?: WorkspacePath): OpenFolder {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | NO_FOLLOW)
    return { fd, folder: HAS_PROC_FD ? `/proc/self/fd/${fd}` : path }
  } catch (thrown) {
    if (place && ['ELOOP', 'ENOTDIR', 'ENOENT'].includes(errorCode(thrown))) throw concurrentChangeError(place)
    throw thrown
  }
}

function closeLastFolder(steps: OpenFolder[]): void {
  const step = steps.pop()
  if (step?.fd !== undefined) closeSync(step.fd)
}

function statIfExists(path: string, place: WorkspacePath): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined
    if (errorCode(thrown) === 'ENAMETOOLONG') throw invalidCallError(`a name in '${place.shown}' is too long`)
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

export function notFoundError(place: { shown: string }): Error {
  return invalidCallError(`there is no '${place.shown}' in the workspace`, 'look with Glob for what there is')
}

/** Someone put another file or a link there between our look and our grasp. */
export function concurrentChangeError(place: { shown: string }): Error {
  return invalidCallError(`'${place.shown}' was replaced while it was being opened`, 'look again')
}
