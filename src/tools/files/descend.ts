import type { Stats } from 'node:fs'
import { closeSync, constants, lstatSync, mkdirSync, openSync, readlinkSync } from 'node:fs'
import { asTroupeError } from '../../errors.ts'
import { codeOf, mistaken, refused } from '../complaint.ts'
import type { Place } from './place.ts'
import { belowRoot, namesOf, outside, placeOf } from './place.ts'
import type { Purpose } from './protected.ts'
import { checkProtected } from './protected.ts'
import type { Workspace } from './workspace.ts'

/*
 * The way from the root of a workspace to a place in it, on descriptors.
 * 1. Each folder is opened through the descriptor of the one above it, never following a link, so that swapping a folder
 *    for a link between two looks leads nowhere else.
 * 2. Links are followed by us, name by name, and only to places inside the workspace. `..` goes back along descriptors.
 * 3. Whoever uses the spot opens its last name without following links.
 */

/** Reaches into an open folder by its descriptor; what happens to the folder's name meanwhile does not matter. */
const THROUGH_DESCRIPTORS = process.platform === 'linux'
/** macOS: no name on the way may be a link. */
const NO_LINKS_AT_ALL = process.platform === 'darwin' ? 0x2000_0000 : 0
const MOST_LINKS = 40

export const NO_FOLLOW = constants.O_NOFOLLOW | NO_LINKS_AT_ALL

/** A place in a workspace, reached: `${folder}/${name}` is good while the work on it lasts. */
export interface Spot {
  folder: string
  /** `.` for a folder that was reached as such. */
  name: string
  path: string
  /** The names from the root after all links: what the place really is. */
  names: readonly string[]
  stat: Stats | undefined
}

interface Step {
  /** None for a folder that is not there and only thought of. */
  fd: number | undefined
  folder: string
}

export interface DescentOptions {
  purpose: Purpose
  /** Make the folders that are missing on the way. */
  create?: boolean
}

/**
 * Where a path leads, as names from the root, also through folders that are not there yet. Only for judging it: what leads
 * nowhere is refused, for no rule could be held against it.
 */
export function whereTo(workspace: Workspace, requested: string): string {
  const steps: Step[] = []
  try {
    const place = placeOf(workspace, requested)
    return descend(workspace, place, { purpose: 'own' }, steps, true).names.join('/')
  } catch (thrown) {
    const { code, message, hint } = asTroupeError(thrown)
    throw code === 'denied' ? thrown : refused(`'${requested}' leads to no place in the workspace: ${message}`, hint)
  } finally {
    while (steps.length > 0) leave(steps)
  }
}

/** Goes down to a place, does the work there, and closes what was opened on the way. */
export async function atPlace<T>(
  workspace: Workspace,
  place: Place,
  options: DescentOptions,
  work: (spot: Spot) => T | Promise<T>,
): Promise<T> {
  const steps: Step[] = []
  try {
    const spot = descend(workspace, place, options, steps)
    return await work(spot)
  } finally {
    while (steps.length > 0) leave(steps)
  }
}

/**
 * Works in a folder that is reached from a root without a single link, and is held open meanwhile. Where the way leads
 * through a link, or nowhere, nothing is done: what is there is not what was meant.
 */
export function inPlainFolder<T>(root: string, names: readonly string[], work: (folder: string) => T): T | undefined {
  const steps: Step[] = []
  try {
    try {
      steps.push(enter(root))
      for (const name of names) steps.push(enter(`${steps.at(-1)?.folder}/${name}`))
    } catch {
      return undefined
    }
    return work(steps.at(-1)?.folder ?? root)
  } finally {
    while (steps.length > 0) leave(steps)
  }
}

function descend(workspace: Workspace, place: Place, options: DescentOptions, steps: Step[], pretend = false): Spot {
  const names: string[] = []
  const ahead = [...place.names]
  let links = 0
  steps.push(enter(workspace.real))
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === '..') {
      if (names.pop() === undefined) throw outside(place.shown)
      leave(steps)
      continue
    }
    const folder = steps.at(-1)?.folder ?? ''
    const path = `${folder}/${name}`
    const stat = look(path, place)
    if (stat?.isSymbolicLink()) {
      if (++links > MOST_LINKS) throw mistaken(`'${place.shown}' goes through links that lead to each other`)
      const target = readlinkSync(path)
      if (target.startsWith('/')) {
        const inside = belowRoot(workspace, target)
        if (inside === undefined) throw outside(place.shown)
        while (names.pop() !== undefined) leave(steps)
        ahead.unshift(...namesOf(inside))
      } else ahead.unshift(...namesOf(target))
      continue
    }
    names.push(name)
    // For a writer, before folders are made on the way; for a reader only where the way ends.
    if (options.purpose === 'write' || ahead.length === 0) checkProtected(workspace, names, options.purpose)
    if (ahead.length === 0) return { folder, name, path, names, stat }
    if (stat === undefined) {
      if (pretend) {
        // Not the end: `..` may lead back to what is there, and from there through a link.
        steps.push({ fd: undefined, folder: path })
        continue
      }
      if (!options.create) throw missing(place)
      makeFolder(path)
    } else if (!stat.isDirectory()) throw mistaken(`'${names.join('/')}' is a file, not a folder`)
    steps.push(enter(path, place))
  }
  checkProtected(workspace, names, options.purpose)
  const folder = steps.at(-1)?.folder ?? ''
  return { folder, name: '.', path: `${folder}/.`, names, stat: look(`${folder}/.`, place) }
}

function enter(path: string, place?: Place): Step {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | NO_FOLLOW)
    return { fd, folder: THROUGH_DESCRIPTORS ? `/proc/self/fd/${fd}` : path }
  } catch (thrown) {
    if (place && ['ELOOP', 'ENOTDIR', 'ENOENT'].includes(codeOf(thrown))) throw changing(place)
    throw thrown
  }
}

function leave(steps: Step[]): void {
  const step = steps.pop()
  if (step?.fd !== undefined) closeSync(step.fd)
}

function look(path: string, place: Place): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    if (codeOf(thrown) === 'ENAMETOOLONG') throw mistaken(`a name in '${place.shown}' is too long`)
    throw thrown
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path)
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown
  }
}

export function missing(place: { shown: string }): Error {
  return mistaken(`there is no '${place.shown}' in the workspace`, 'look with Glob for what there is')
}

/** Someone put another file or a link there between our look and our grasp. */
export function changing(place: { shown: string }): Error {
  return mistaken(`'${place.shown}' was replaced while it was being opened`, 'look again')
}
