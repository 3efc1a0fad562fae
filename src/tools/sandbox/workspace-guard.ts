import type { Dirent } from 'node:fs'
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { inPlainFolder } from '../files/descend.ts'
import { gitFolderOf } from '../files/git-hooks.ts'
import { namesOf } from '../files/place.ts'
import { OWN_FOLDER } from '../files/protected.ts'
import { agentPlaces, isWithin, protectedPlaces, realPlace, sharedFolders } from '../files/protected-places.ts'
import type { Workspace } from '../files/workspace.ts'

/*
 * What commands may not write although it lies in the workspace.
 * 1. Whoever runs git there outside the sandbox runs what hooks and settings of the repositories say.
 * 2. Whoever starts agents there gets those that are defined there.
 * 3. What is not there is named all the same: the sandbox covers it, so that a command cannot make it.
 */

/** How far below the root repositories and agents are looked for, and in how many folders at the most. */
const DEPTH = 6
const MOST_FOLDERS = 10_000

export function guardedPlaces(workspace: Workspace, writable: readonly string[]): string[] {
  const folders = foldersOf(workspace.real)
  const trees = folders.filter((folder) => existsSync(join(folder, '.git')))
  const nested = folders
    .filter((folder) => folder !== workspace.real)
    .flatMap((folder) => agentPlaces(folder, 'nested'))
    .filter((path) => existsSync(path))
  const all = [...trees.flatMap((tree) => gitSettings(tree, writable)), ...nested, ...protectedPlaces(workspace, trees)]
  return [...new Set(all)].filter((path) => writable.some((root) => isWithin(path, root)))
}

/** Whether all of the workspace is protected, because a place was named that holds it. */
export function isGuardedWhole({ real, protect = [] }: Workspace): boolean {
  return protect.some((path) => isWithin(real, path) || isWithin(real, realPlace(path)))
}

/**
 * The folders that hold both what is protected and what is not. They have to be there while a command works, or they would
 * be covered as a whole; the last command to end removes those that it finds empty and that we made.
 */
export class SharedFolders {
  private readonly made = new Set<string>()
  private working = 0
  private readonly folders: readonly string[]

  constructor({ real }: Workspace) {
    this.folders = sharedFolders(real)
  }

  enter(): void {
    this.working++
    for (const folder of this.folders) if (worked(() => mkdirSync(folder))) this.made.add(folder)
  }

  leave(): void {
    if (--this.working > 0) return
    for (const folder of this.made) if (worked(() => rmdirSync(folder))) this.made.delete(folder)
  }
}

/** A folder that is there already is not ours; one that is not empty stays. */
function worked(step: () => void): boolean {
  try {
    step()
    return true
  } catch {
    return false
  }
}

/** Folders of a workspace that hold something to guard. The nearer ones first: of too many, the deepest are left out. */
function foldersOf(root: string): string[] {
  const found: string[] = []
  let left = MOST_FOLDERS
  let level = [root]
  for (let depth = 0; depth <= DEPTH && level.length > 0; depth++) {
    const looked = level.slice(0, left).map((folder) => ({ folder, entries: entriesOf(folder) }))
    left -= looked.length
    found.push(...looked.filter(({ entries }) => entries.some(({ name }) => TELLING.has(name))).map(folderOf))
    level = looked.flatMap(({ folder, entries }) =>
      entries.filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name)).map(({ name }) => join(folder, name)),
    )
  }
  return found
}

const TELLING = new Set(['.git', '.claude', '.github', '.amplifier', '.mcp.json', OWN_FOLDER])
const SKIPPED = new Set(['.git', 'node_modules', OWN_FOLDER])
const folderOf = ({ folder }: { folder: string }) => folder

/** What is elsewhere is covered by not being there: nothing is looked for or made in it. */
function gitSettings(tree: string, writable: readonly string[]): string[] {
  const named = join(tree, '.git')
  const git = gitFolderOf(tree)
  const pointer = git === named ? [] : [named]
  if (git === undefined || !existsSync(git)) return [named]
  const root = writable.find((each) => isWithin(realPlace(git), realPlace(each)))
  return root === undefined ? pointer : [...pointer, ...repositorySettings(git, root)]
}

function repositorySettings(git: string, root: string): string[] {
  const trees = foldersIn(join(git, 'worktrees'))
  const ofTrees = trees.flatMap((tree) => [join(tree, 'config.worktree'), join(tree, 'commondir')])
  return [...settingsIn(git, root), ...ofTrees, ...modulesIn(join(git, 'modules'), root, DEPTH)]
}

/** Modules may have names with slashes, and modules of their own. */
function modulesIn(folder: string, root: string, depth: number): string[] {
  if (depth === 0) return []
  return foldersIn(folder).flatMap((path) => {
    if (!existsSync(join(path, 'HEAD'))) return modulesIn(path, root, depth - 1)
    return [...settingsIn(path, root), ...modulesIn(join(path, 'modules'), root, depth - 1)]
  })
}

function settingsIn(git: string, root: string): string[] {
  // Commands that come with git look for the folder; a cover in its place would be a file. By descriptors: a link that
  // another command puts there meanwhile would have us make it elsewhere.
  const names = isWithin(git, root) ? namesOf(git.slice(root.length)) : undefined
  if (names) inPlainFolder(root, names, (folder) => worked(() => mkdirSync(`${folder}/hooks`)))
  return ['hooks', 'config', 'config.worktree'].map((name) => join(git, name))
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
