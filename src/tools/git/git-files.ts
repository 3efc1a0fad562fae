import type { Dirent } from 'node:fs'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { findGitFolder } from '../files/git-hooks.ts'

/*
 * Reads files of git (gitrepository-layout), where a git process for each question would take most of the time of a build. Only git writes them.
 * What is not there, or has another form, is left to git: every function can answer `undefined`.
 */

/** The folder upwards from this one that has a `.git`. */
export function findWorkingTree(folder: string): string | undefined {
  if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false }) !== undefined) return folder
  const parent = dirname(folder)
  return parent === folder ? undefined : findWorkingTree(parent)
}

/**
 * Everything that decides which settings of the repository apply in a working tree, as text to compare. `undefined` if config files include
 * others, which may change on their own.
 */
export function readConfigState(tree: string): string | undefined {
  const gitFolder = findGitFolder(tree)
  if (gitFolder === undefined) return undefined
  const common = commonFolder(gitFolder)
  const texts = [join(common, 'config'), join(gitFolder, 'config.worktree')].map((file) => readGitFile(file) ?? '')
  if (texts.some((text) => /\[\s*include/i.test(text))) return undefined
  return JSON.stringify([gitFolder, common, ...texts])
}

/** The git folder that all worktrees share. */
export function commonFolder(gitFolder: string): string {
  return resolve(gitFolder, readGitFile(join(gitFolder, 'commondir'))?.trim() || '.')
}

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

export function isObjectId(name: string): boolean {
  return OBJECT_ID.test(name)
}

/** The commit of a branch that is a file of its own, as those of Troupe are until somebody packs them. */
export function readBranch(common: string, ref: string): string | undefined {
  const text = readGitFile(join(common, ref))?.trim()
  return text !== undefined && isObjectId(text) ? text : undefined
}

export interface WorktreeEntry {
  /** The folder of the worktree. */
  path: string
  /** The git folder of the worktree, in that of the repository. */
  gitFolder: string
}

/** The linked worktrees that git knows, whether their folders exist or not. */
export function listWorktrees(common: string): WorktreeEntry[] {
  const root = join(common, 'worktrees')
  return entriesIn(root).flatMap(({ name }) => {
    const gitFolder = join(root, name)
    const target = readGitFile(join(gitFolder, 'gitdir'))?.trim()
    return target ? [{ path: dirname(resolve(gitFolder, target)), gitFolder }] : []
  })
}

export function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

export function readGitFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
