import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { TroupeError } from '../../errors.ts'
import { shortHash } from '../../kernel/hash.ts'
import type { WorktreeId } from '../../kernel/worktree.ts'
import { parseJson } from '../../schema/json-value.ts'
import { errorCode, operatorError } from '../tool-errors.ts'
import { readGitFile } from './git-files.ts'

/*
 * Where worktrees are: in the user's state folder, outside of every checkout. In the checkout, editors, test runners and searches would find each
 * file twice; in `.git`, test runners such as Jest find nothing at all, because they ignore every path with `/.git/`.
 *
 * <state>/troupe/worktrees/<repository>/<run>/<name>        the worktree
 * <state>/troupe/worktrees/<repository>/<run>/<name>.json   its base; stays with the branch
 * <state>/troupe/worktrees/<repository>/<run>/<name>.ready  exists once all files are checked out
 * <state>/troupe/worktrees/<repository>/node_modules        link to the packages of the checkout, which Node finds from the worktree upwards
 */

export const BRANCH_PREFIX = 'troupe/'

/** The user's folder for worktrees. */
export function worktreesFolder({ XDG_STATE_HOME }: NodeJS.ProcessEnv, home: string): string {
  const state = XDG_STATE_HOME && isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : join(home, '.local', 'state')
  return join(state, 'troupe', 'worktrees')
}

/** The folder for the worktrees of one repository. */
export function repositoryFolder(root: string, { top, common }: { top: string; common: string }): string {
  const label = basename(top)
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .slice(0, 40)
  return join(root, `${label}-${shortHash(common)}`)
}

export interface WorktreePlace {
  id: WorktreeId
  path: string
  branch: string
  /** The reference of the branch. */
  ref: string
  record: string
  ready: string
  /** The commit that `startMerge` merges, until the next commit. */
  pendingMerge: string
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?$/

export function isWorktreeId({ run_id, name }: WorktreeId): boolean {
  return isName(run_id) && isName(name)
}

function isName(value: string): boolean {
  return NAME.test(value) && !value.includes('..') && !/\.(lock|json|ready|merge)$/i.test(value)
}

/** The name of the worktree that an entry of the run's folder belongs to: the worktree itself, or a file beside it. */
export function worktreeNameOf(entry: string): string {
  return entry.replace(/\.(?:json|ready|merge)(?:\.tmp)?$/, '')
}

/** Throws for a name that could leave the folder (path traversal) or that git does not accept in a branch. */
export function placeFor(folder: string, id: WorktreeId): WorktreePlace {
  for (const [field, value] of Object.entries({ run_id: id.run_id, name: id.name })) {
    if (isName(value)) continue
    throw new TroupeError('invalid_input', `\`${field}\` of a worktree is invalid: '${value.slice(0, 120)}'`, {
      hint: 'use 1 to 100 letters, digits, or . _ -, starting with a letter or digit, without `..` and without the end .lock',
    })
  }
  const path = join(folder, id.run_id, id.name)
  const branch = `${BRANCH_PREFIX}${id.run_id}/${id.name}`
  return {
    id,
    path,
    branch,
    ref: `refs/heads/${branch}`,
    record: `${path}.json`,
    ready: `${path}.ready`,
    pendingMerge: `${path}.merge`,
  }
}

/** Creates the folder for the worktrees of a run; only this user can read it. */
export function prepareFolder({ path }: WorktreePlace): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  } catch (thrown) {
    const problem = errorCode(thrown) === 'ENOSPC' ? 'the disk is full' : (thrown as Error).message
    throw operatorError(
      `the folder for worktrees '${dirname(path)}' cannot be created: ${problem}`,
      'make it writable, or choose another state folder with XDG_STATE_HOME',
      thrown,
    )
  }
}

/** What Troupe keeps about a worktree in a file beside it. */
export interface WorktreeRecord {
  /** The commit that its branch began at. */
  base?: string
  /** The commit that is being merged. */
  merging?: string
}

/** The end of the name of a file that is being written. */
const UNFINISHED = '.tmp'

/** Written with a rename: after a crash, the file is whole or absent. */
export function writeRecord(file: string, data: WorktreeRecord): void {
  const temporary = `${file}${UNFINISHED}`
  try {
    writeFileSync(temporary, JSON.stringify(data), { mode: 0o600 })
    renameSync(temporary, file)
  } catch (thrown) {
    throw operatorError(
      `'${file}' cannot be written: ${(thrown as Error).message}`,
      'free some space or make the folder writable, then resume the run; XDG_STATE_HOME chooses another folder',
      thrown,
    )
  }
}

export function readRecord(file: string): Partial<WorktreeRecord> | undefined {
  return parseJson(readGitFile(file) ?? '') as WorktreeRecord | undefined
}

/** Removes what is left of a worktree that git does not know, or no longer. */
export async function removeFolder({ path, record, ready, pendingMerge }: WorktreePlace): Promise<void> {
  const unfinished = [record, ready, pendingMerge].map((file) => `${file}${UNFINISHED}`)
  for (const file of [ready, pendingMerge, ...unfinished]) rmSync(file, { force: true })
  try {
    await rm(path, { recursive: true, force: true })
  } catch (thrown) {
    throw operatorError(
      `the folder of a worktree '${path}' cannot be removed: ${(thrown as Error).message}`,
      'close programs that use it, make it writable, and remove it; then resume the run',
      thrown,
    )
  }
}

/** Removes folders that have become empty, up to that of the repository. */
export function removeEmptyFolders(folder: string, { path }: WorktreePlace): void {
  try {
    rmdirSync(dirname(path))
    const names = readdirSync(folder)
    if (names.some((name) => name !== 'node_modules' && !/^exclude(?:\.|$)/.test(name))) return
    for (const name of names) rmSync(join(folder, name), { force: true })
    rmdirSync(folder)
  } catch {
    // Another worktree is there.
  }
}

/** False for a link, which a repository can contain: commands in worktrees would read any folder of the machine (symlink attack). */
export function isPackagesFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Tests in a worktree need the packages of the checkout. Node looks for `node_modules` in all parent folders. */
export function linkPackages(folder: string, top: string): string | undefined {
  const [link, target] = [join(folder, 'node_modules'), join(top, 'node_modules')]
  if (!isPackagesFolder(target)) return undefined
  try {
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync(target, link, 'dir')
  } catch {
    // Another process has created it.
  }
  return link
}
