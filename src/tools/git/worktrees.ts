import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { WorktreeId } from '../../kernel/worktree.ts'
import { operatorError } from '../tool-errors.ts'
import type { Checkout } from './checkout.ts'
import type { Git } from './git-client.ts'
import { isGitRunning } from './git-client.ts'
import type { WorktreeEntry } from './git-files.ts'
import { listWorktrees, readBranch } from './git-files.ts'
import type { GitProgram } from './git-process.ts'
import type { Worktree } from './repository.ts'
import type { CommitSettings } from './user-settings.ts'
import type { WorktreePlace } from './worktree-place.ts'
import {
  BRANCH_PREFIX,
  linkPackages,
  placeFor,
  prepareFolder,
  readRecord,
  removeEmptyFolders,
  removeFolder,
  writeRecord,
} from './worktree-place.ts'

/*
 * Opens and removes worktrees.
 * 1. A worktree is complete if git lists it and its `.ready` file exists, which is written last and removed first. Anything else is
 *    removed and made again: nobody has worked in it.
 * 2. The base of a branch is on disk before the branch exists, so that changes can be computed after a crash at any point.
 * 3. Git of a killed process may still be running: it is waited for.
 */

/** The repository and what works on it, for one operation. */
export interface WorktreeScope {
  git: Git
  checkout: Checkout
  program: GitProgram
}

/** For commits, with what they take from the user. */
export interface CommitScope extends WorktreeScope {
  settings: CommitSettings
}

/** The commit of a reference; `undefined` if there is none. A branch of Troupe is never taken for a tag of the same name. */
export async function resolveCommit({ git, checkout }: WorktreeScope, name: string): Promise<string | undefined> {
  const ref = name.startsWith(BRANCH_PREFIX) ? `refs/heads/${name}` : name
  const known = ref.startsWith(`refs/heads/${BRANCH_PREFIX}`) ? readBranch(checkout.common, ref) : undefined
  if (known !== undefined) return known
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]
  const { status, stdout } = await git.run(args, { statuses: [0, 1, 128] })
  return status === 0 ? stdout.toString('utf8').trim() : undefined
}

export async function requireCommit(scope: WorktreeScope, name: string): Promise<string> {
  const commit = await resolveCommit(scope, name)
  if (commit !== undefined) return commit
  throw operatorError(
    `'${name}' is no commit or branch of the repository '${scope.checkout.top}'`,
    'it may have been deleted; `git branch --list "troupe/*"` shows the branches of Troupe',
  )
}

export async function openWorktree(
  scope: WorktreeScope,
  { id, base }: { id: WorktreeId; base?: string | undefined },
): Promise<Worktree> {
  const place = placeFor(scope.checkout.worktrees, id)
  if (!isComplete(scope, place)) {
    await waitForGit(place.path, scope.program)
    if (!isComplete(scope, place)) await createWorktree(scope, place, base)
  }
  return describeWorktree(scope, place)
}

function isComplete(scope: WorktreeScope, place: WorktreePlace): boolean {
  if (!existsSync(place.ready) || !existsSync(join(place.path, '.git'))) return false
  return findEntry(scope, place) !== undefined
}

/** The entry that git has of a worktree. */
export function findEntry({ checkout }: WorktreeScope, place: WorktreePlace): WorktreeEntry | undefined {
  return listWorktrees(checkout.common).find(({ path }) => path === place.path)
}

async function createWorktree(scope: WorktreeScope, place: WorktreePlace, base: string | undefined): Promise<void> {
  const { git, checkout } = scope
  prepareFolder(place)
  await forgetWorktree(scope, place)
  const start = await branchStart(scope, place, base)
  // Before the worktree, so that `worktree add` can be repeated. An empty value: the branch must not exist.
  if (start !== undefined) await git.run(['update-ref', '-m', 'troupe: begin', place.ref, start, ''])
  await git.run(['worktree', 'add', '--no-checkout', '--quiet', place.path, place.branch])
  // Kept apart from `worktree add`, so that an incomplete checkout is one command that can be repeated.
  await git.run(['reset', '--hard', '--quiet'], { worktree: place.path })
  linkPackages(checkout.worktrees, checkout.top)
  writeRecord(place.ready, {})
}

/** The commit that the branch has to be created at; `undefined` if there is a branch. Records the base first. */
async function branchStart(
  scope: WorktreeScope,
  place: WorktreePlace,
  base: string | undefined,
): Promise<string | undefined> {
  const tip = await resolveCommit(scope, place.ref)
  const recorded = readRecord(place.record)?.base
  if (tip !== undefined && recorded !== undefined) return undefined
  const start = await requireCommit(scope, base ?? 'HEAD')
  writeRecord(place.record, { base: tip === undefined ? start : await mergeBase(scope, start, tip) })
  return tip === undefined ? start : undefined
}

async function mergeBase({ git }: WorktreeScope, one: string, other: string): Promise<string> {
  const { status, stdout } = await git.run(['merge-base', one, other], { statuses: [0, 1] })
  return status === 0 ? stdout.toString('utf8').trim() : one
}

export async function describeWorktree(scope: WorktreeScope, place: WorktreePlace): Promise<Worktree> {
  const head = await requireCommit(scope, place.ref)
  const recorded = readRecord(place.record)?.base
  const base = recorded !== undefined ? recorded : await mergeBase(scope, 'HEAD', head)
  const { id, path, branch } = place
  return { id, path, workspace: join(path, scope.checkout.prefix), branch, base, head }
}

/** The worktree, which has to be there with its files. */
export function requireWorktree(scope: WorktreeScope, id: WorktreeId): WorktreePlace {
  const place = placeFor(scope.checkout.worktrees, id)
  if (isComplete(scope, place)) return place
  throw operatorError(
    `the worktree '${place.path}' is gone: the folder was removed while the run used it`,
    `changes that were not committed are lost; resume the run to open it again on the branch '${place.branch}'`,
  )
}

export async function removeWorktree(
  scope: WorktreeScope,
  { id, branch }: { id: WorktreeId; branch: 'keep' | 'delete' },
): Promise<void> {
  const { git, checkout, program } = scope
  const place = placeFor(checkout.worktrees, id)
  await waitForGit(place.path, program)
  await forgetWorktree(scope, place)
  if (branch === 'delete') {
    if ((await resolveCommit(scope, place.ref)) !== undefined) await git.run(['update-ref', '-d', place.ref])
    rmSync(place.record, { force: true })
  }
  removeEmptyFolders(checkout.worktrees, place)
}

/** Removes the folder, and the entry that git has of it. `git worktree prune` would touch worktrees of the user. */
async function forgetWorktree(scope: WorktreeScope, place: WorktreePlace): Promise<void> {
  rmSync(place.ready, { force: true })
  const entry = findEntry(scope, place)
  // Before git: it refuses to remove a folder whose `.git` file is missing or damaged.
  await removeFolder(place)
  if (!entry) return
  const { git } = scope
  await git.run(['worktree', 'remove', '--force', '--force', place.path], { statuses: [0, 128] })
}

const WAIT_MS = 50
const MAX_WAIT_MS = 120_000

/** Waits for git processes that a killed process has left working on this folder. */
async function waitForGit(path: string, { signal }: GitProgram): Promise<void> {
  for (let waited = 0; waited < MAX_WAIT_MS && isGitRunning(path); waited += WAIT_MS)
    await delay(WAIT_MS, undefined, signal ? { signal } : {})
}
