import type { Dirent } from 'node:fs'
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { findGitFolder } from '../files/git-hooks.ts'
import {
  agentConfigPaths,
  isWithin,
  partlyProtectedFolders,
  protectedPaths,
  resolveRealPath,
} from '../files/protected-paths.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { pathSegments } from '../files/workspace-path.ts'

/*
 * What commands may not write although it lies in the workspace.
 * 1. Whoever runs git there outside the sandbox runs what hooks and settings of the repositories say.
 * 2. Whoever starts agents there gets those that are defined there.
 * 3. What is not there is named all the same: the sandbox covers it, so that a command cannot make it.
 */

/** How far below the root repositories and agents are looked for, and in how many folders at the most. */
const MAX_DEPTH = 6
const MAX_FOLDERS = 10_000

export function writeProtectedPaths(workspace: Workspace, writable: readonly string[]): string[] {
  const folders = findMarkedFolders(workspace.realPath)
  const trees = folders.filter((folder) => existsSync(join(folder, '.git')))
  const nested = folders
    .filter((folder) => folder !== workspace.realPath)
    .flatMap((folder) => agentConfigPaths(folder, 'nested'))
    .filter((path) => existsSync(path))
  const all = [
    ...trees.flatMap((tree) => gitProtectedPaths(tree, writable)),
    ...nested,
    ...protectedPaths(workspace, trees),
  ]
  return [...new Set(all)].filter((path) => writable.some((root) => isWithin(path, root)))
}

/** Whether all of the workspace is protected, because a place was named that holds it. */
export function isFullyProtected({ realPath, protect = [] }: Workspace): boolean {
  return protect.some((path) => isWithin(realPath, path) || isWithin(realPath, resolveRealPath(path)))
}

/**
 * The folders that hold both what is protected and what is not. They have to be there while a command works, or they would
 * be covered as a whole; the last command to end removes those that it finds empty and that we made.
 */
export class PartlyProtectedFolders {
  private readonly created = new Set<string>()
  private activeCommands = 0
  private readonly folders: readonly string[]

  constructor({ realPath }: Workspace) {
    this.folders = partlyProtectedFolders(realPath)
  }

  acquire(): void {
    this.activeCommands++
    for (const folder of this.folders) if (succeeds(() => mkdirSync(folder))) this.created.add(folder)
  }

  release(): void {
    if (--this.activeCommands > 0) return
    for (const folder of this.created) if (succeeds(() => rmdirSync(folder))) this.created.delete(folder)
  }
}

/** A folder that is there already is not ours; one that is not empty stays. */
function succeeds(step: () => void): boolean {
  try {
    step()
    return true
  } catch {
    return false
  }
}

/** Folders of a workspace that hold something to guard. The nearer ones first: of too many, the deepest are left out. */
function findMarkedFolders(root: string): string[] {
  const found: string[] = []
  let left = MAX_FOLDERS
  let level = [root]
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const looked = level.slice(0, left).map((folder) => ({ folder, entries: listEntries(folder) }))
    left -= looked.length
    found.push(...looked.filter(({ entries }) => entries.some(({ name }) => MARKERS.has(name))).map(toFolder))
    level = looked.flatMap(({ folder, entries }) =>
      entries
        .filter((entry) => entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name))
        .map(({ name }) => join(folder, name)),
    )
  }
  return found
}

const MARKERS = new Set(['.git', '.claude', '.github', '.amplifier', '.mcp.json', TROUPE_FOLDER])
const SKIPPED_FOLDERS = new Set(['.git', 'node_modules', TROUPE_FOLDER])
const toFolder = ({ folder }: { folder: string }) => folder

/** What is elsewhere is covered by not being there: nothing is looked for or made in it. */
function gitProtectedPaths(tree: string, writable: readonly string[]): string[] {
  const named = join(tree, '.git')
  const git = findGitFolder(tree)
  const pointer = git === named ? [] : [named]
  if (git === undefined || !existsSync(git)) return [named]
  const root = writable.find((each) => isWithin(resolveRealPath(git), resolveRealPath(each)))
  return root === undefined ? pointer : [...pointer, ...repositoryProtectedPaths(git, root)]
}

function repositoryProtectedPaths(git: string, root: string): string[] {
  const trees = subfolders(join(git, 'worktrees'))
  const ofTrees = trees.flatMap((tree) => [join(tree, 'config.worktree'), join(tree, 'commondir')])
  return [...gitConfigPaths(git, root), ...ofTrees, ...submoduleProtectedPaths(join(git, 'modules'), root, MAX_DEPTH)]
}

/** Modules may have names with slashes, and modules of their own. */
function submoduleProtectedPaths(folder: string, root: string, depth: number): string[] {
  if (depth === 0) return []
  return subfolders(folder).flatMap((path) => {
    if (!existsSync(join(path, 'HEAD'))) return submoduleProtectedPaths(path, root, depth - 1)
    return [...gitConfigPaths(path, root), ...submoduleProtectedPaths(join(path, 'modules'), root, depth - 1)]
  })
}

function gitConfigPaths(git: string, root: string): string[] {
  // Commands that come with git look for the folder; a cover in its place would be a file. By descriptors: a link that
  // another command puts there meanwhile would have us make it elsewhere.
  const names = isWithin(git, root) ? pathSegments(git.slice(root.length)) : undefined
  if (names) withLinkFreeFolder(root, names, (folder) => succeeds(() => mkdirSync(`${folder}/hooks`)))
  return ['hooks', 'config', 'config.worktree'].map((name) => join(git, name))
}

function subfolders(folder: string): string[] {
  return listEntries(folder)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
}

function listEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
