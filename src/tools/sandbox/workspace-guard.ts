import type { Dirent } from 'node:fs'
import { existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { findGitFolder } from '../files/git-hooks.ts'
import {
  findConfigPaths,
  isWithin,
  mayHoldConfig,
  partlyProtectedFolders,
  protectedPaths,
  resolveRealPath,
} from '../files/protected-paths.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { pathSegments } from '../files/workspace.ts'

/*
 * Paths in the workspace that commands must not write (sandbox escape by delayed execution).
 * 1. Git runs the hooks and programs of a repository's config with the rights of the next person who uses it.
 * 2. Configuration in the workspace is executed or obeyed by the next run, and by editors, shells, CI and other agents.
 * 3. Some missing paths are listed too: the sandbox masks them, so that a command cannot create them. Others are renamed after
 *    the command (config-guard.ts).
 */

/** Bounds of the scan for repositories and configuration. Folders beyond them are read-only as a whole. */
const MAX_DEPTH = 40
const MAX_FOLDERS = 10_000
const MAX_CREATED_FOLDERS = 500_000
/** Every protected path is a mount of the sandbox. */
const MAX_UNSCANNED = 200
const MAX_SUBMODULE_DEPTH = 6

export function writeProtectedPaths(
  workspace: Workspace,
  writable: readonly string[],
  scans = new FolderScans(),
): string[] {
  const { protectable: folders, unscanned } = scans.of(workspace.realPath)
  const trees = folders.filter((folder) => existsSync(join(folder, '.git')))
  const bare = folders.filter((folder) => !trees.includes(folder) && isBareRepository(folder))
  const nested = folders
    .filter((folder) => folder !== workspace.realPath)
    .flatMap((folder) => findConfigPaths(folder).map((path) => join(folder, ...path)))
  const all = [
    ...trees.flatMap((tree) => gitProtectedPaths(tree, writable)),
    ...bare.flatMap((folder) => repositoryProtectedPaths(folder, workspace.realPath)),
    ...nested,
    ...unscanned,
    ...protectedPaths(workspace, trees),
  ]
  return [...new Set(all)].filter((path) => writable.some((root) => isWithin(path, root)))
}

/** Whether `protect` contains the workspace or one of its parents. */
export function isFullyProtected({ realPath, protect = [] }: Workspace): boolean {
  return protect.some((path) => isWithin(realPath, path) || isWithin(realPath, resolveRealPath(path)))
}

/**
 * Folders with protected and unprotected content, such as `.claude`. They must exist while a command runs, or the sandbox
 * would mask them as a whole. The last concurrent command removes those that Troupe created and that are still empty.
 */
export class PartlyProtectedFolders {
  private readonly created = new Set<string>()
  private activeCommands = 0
  private readonly folders: readonly string[]

  constructor({ realPath }: Workspace) {
    this.folders = partlyProtectedFolders(realPath)
  }

  /** The folders that are there only because of commands in progress. */
  get createdFolders(): string[] {
    return [...this.created]
  }

  /** Those that `acquire` creates. */
  get missingFolders(): string[] {
    return this.folders.filter((folder) => lstatSync(folder, { throwIfNoEntry: false }) === undefined)
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

/** `mkdir` fails for an existing folder, `rmdir` for one that is not empty. */
function succeeds(operation: () => void): boolean {
  try {
    operation()
    return true
  } catch {
    return false
  }
}

/** Scans of writable folders at one moment, before or after a command: several guards use them, and each folder is scanned once. */
export class FolderScans {
  private readonly scans = new Map<string, FolderScan>()

  of(root: string): FolderScan {
    const known = this.scans.get(root)
    if (known) return known
    const scan = scanFolders(root)
    this.scans.set(root, scan)
    return scan
  }
}

interface FolderScan {
  /** Bare repositories, and folders with a marker such as `.git`. */
  marked: readonly string[]
  /** The marked ones within the bounds. */
  protectable: readonly string[]
  /** Folders beyond the bounds, which may hold anything. */
  unscanned: readonly string[]
}

/**
 * Breadth first. Fails closed: a command that creates thousands of folders must not hide a repository from the scan. Beyond the
 * bounds it goes on, because repositories there have to be known after a command.
 */
function scanFolders(root: string): FolderScan {
  const marked: string[] = []
  const protectable: string[] = []
  const unscanned: string[] = []
  let count = 0
  let level = [root]
  for (let depth = 0; level.length > 0; depth++) {
    const next: string[] = []
    for (const folder of level) {
      count += 1
      // Deeper ones are in these.
      if (depth === MAX_DEPTH + 1 || (count > MAX_FOLDERS && depth <= MAX_DEPTH)) unscanned.push(folder)
      if (count > MAX_CREATED_FOLDERS) continue
      const entries = listEntries(folder)
      if (isMarked(entries)) {
        marked.push(folder)
        if (count <= MAX_FOLDERS && depth <= MAX_DEPTH) protectable.push(folder)
      }
      for (const entry of entries) {
        if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)) next.push(join(folder, entry.name))
      }
    }
    level = next
  }
  return { marked, protectable, unscanned: coveringFolders(unscanned, root) }
}

/** These folders, or fewer that contain them. */
function coveringFolders(folders: readonly string[], root: string): string[] {
  let covering = [...new Set(folders)]
  while (covering.length > MAX_UNSCANNED) {
    const parents = new Set(covering.map((folder) => (folder === root ? root : dirname(folder))))
    if (parents.size === 1 && parents.has(covering[0] ?? '')) break
    covering = [...parents]
  }
  return covering.filter((folder) => covering.every((other) => other === folder || !isWithin(folder, other)))
}

const SKIPPED_FOLDERS = new Set(['.git', 'node_modules', TROUPE_FOLDER])
const isMarked = (entries: readonly Dirent[]) =>
  entries.some(({ name }) => name === '.git' || mayHoldConfig(name)) || areGitFolderNames(entries)

/** A git folder outside all writable folders needs no protection, and nothing is created in it. */
function gitProtectedPaths(tree: string, writable: readonly string[]): string[] {
  const dotGit = join(tree, '.git')
  const git = findGitFolder(tree)
  const pointer = git === dotGit ? [] : [dotGit]
  if (git === undefined || !existsSync(git)) return [dotGit]
  const root = writable.find((folder) => isWithin(resolveRealPath(git), resolveRealPath(folder)))
  return root === undefined ? pointer : [...pointer, ...repositoryProtectedPaths(git, root)]
}

function repositoryProtectedPaths(git: string, root: string): string[] {
  const worktreePaths = worktreeFolders(git).flatMap((tree) => [join(tree, 'config.worktree'), join(tree, 'commondir')])
  return [git, ...submoduleFolders(git)].flatMap((folder) => gitConfigPaths(folder, root)).concat(worktreePaths)
}

/** Whether git takes the folder itself for a git folder. */
export function isBareRepository(folder: string): boolean {
  return areGitFolderNames(listEntries(folder))
}

function areGitFolderNames(entries: readonly Dirent[]): boolean {
  const has = (wanted: string) => entries.some(({ name }) => name === wanted)
  return has('HEAD') && ((has('objects') && has('refs')) || has('commondir'))
}

/** The git folders of linked working trees. */
export function worktreeFolders(git: string): string[] {
  return subfolders(join(git, 'worktrees'))
}

/** The git folders of submodules. Their names can contain slashes, and submodules can be nested. */
export function submoduleFolders(git: string): string[] {
  return nestedSubmodules(join(git, 'modules'), MAX_SUBMODULE_DEPTH)
}

function nestedSubmodules(folder: string, depth: number): string[] {
  if (depth === 0) return []
  return subfolders(folder).flatMap((path) => {
    if (!existsSync(join(path, 'HEAD'))) return nestedSubmodules(path, depth - 1)
    return [path, ...nestedSubmodules(join(path, 'modules'), depth - 1)]
  })
}

function gitConfigPaths(git: string, root: string): string[] {
  // git expects `hooks` to be a folder, but a mask would be a file, so it is created. Opened by descriptor: a symlink that
  // another command places meanwhile would make us create it elsewhere (symlink race).
  const segments = isWithin(git, root) ? pathSegments(git.slice(root.length)) : undefined
  if (segments) withLinkFreeFolder(root, segments, (folder) => succeeds(() => mkdirSync(`${folder}/hooks`)))
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
