import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import type { Git } from './git-client.ts'
import { findWorkingTree, readConfigState } from './git-files.ts'
import type { GitProgram } from './git-process.ts'
import { runGit } from './git-process.ts'
import type { CheckoutFeature, CheckoutState, RepositoryRefusal } from './repository.ts'
import { repositoryFolder } from './worktree-place.ts'

/** The user's checkout, as worktrees need it. */
export interface Checkout {
  top: string
  /** The git folder that all worktrees share. */
  common: string
  /** The git folder of this checkout. */
  gitFolder: string
  /** The workspace relative to `top`; empty if they are the same. */
  prefix: string
  /** The folder for worktrees of this repository. */
  worktrees: string
}

export interface CheckoutLocation {
  workspace: string
  /** The folder for worktrees of all repositories. */
  root: string
}

const MIN_VERSION = [2, 38] as const

/** Finds the repository of a folder with one command, if nothing is wrong; otherwise finds out why it cannot have worktrees. */
export async function findCheckout(
  program: GitProgram,
  location: CheckoutLocation,
): Promise<Checkout | RepositoryRefusal> {
  const { workspace, root } = location
  const queries = ['--is-bare-repository', '--git-common-dir', '--git-dir', '--show-toplevel', 'HEAD^{commit}']
  const args = ['-C', workspace, 'rev-parse', '--path-format=absolute', ...queries]
  const { status, stdout } = await runGit(program, { args })
  const [bare, common = '', gitFolder = '', top = '', head = ''] = stdout.toString('utf8').split('\n')
  const [realTop, folder] = [resolveRealPath(top), resolveRealPath(workspace)]
  const isFound = status === 0 && bare === 'false' && /^[0-9a-f]{40,64}$/.test(head)
  if (!isFound || !isWithin(folder, realTop) || isWithin(resolveRealPath(root), realTop))
    return diagnoseCheckout(program, location)
  return {
    top: realTop,
    common: resolveRealPath(common),
    gitFolder: resolveRealPath(gitFolder),
    prefix: folder.slice(realTop.length + 1),
    worktrees: repositoryFolder(resolveRealPath(root), { top: realTop, common: resolveRealPath(common) }),
  }
}

/** Everything that `findCheckout` depends on, as text to compare; `undefined` if it may change unseen. */
export function readCheckoutState({ workspace, root }: CheckoutLocation): string | undefined {
  const folder = resolveRealPath(workspace)
  const top = findWorkingTree(folder)
  const config = top === undefined ? undefined : readConfigState(top)
  return config === undefined ? undefined : JSON.stringify([folder, top, config, resolveRealPath(root)])
}

/** Why this git cannot be used; `undefined` if it can. */
export async function checkVersion(program: GitProgram): Promise<RepositoryRefusal | undefined> {
  const { stdout, stopped } = await runGit(program, { args: ['version'] })
  return stopped === 'missing' ? { reason: 'no_git', ...MISSING_GIT } : versionProblem(stdout.toString('utf8'))
}

async function diagnoseCheckout(
  program: GitProgram,
  { workspace, root }: CheckoutLocation,
): Promise<RepositoryRefusal> {
  const ask = (...args: string[]) => runGit(program, { args: ['-C', workspace, ...args] })
  const facts = await ask('rev-parse', '--is-bare-repository')
  if (facts.status !== 0) return noRepository(workspace, facts.stderr)
  const bare = facts.stdout.toString('utf8').trim()
  const where = await ask('rev-parse', '--show-toplevel')
  if (bare === 'true' || where.status !== 0) {
    return {
      reason: 'bare',
      message: `'${workspace}' is a bare repository or inside a git folder: there are no files to work on`,
      hint: 'clone it and use the clone: git clone REPOSITORY FOLDER',
    }
  }
  const top = resolveRealPath(where.stdout.toString('utf8').replace(/\n$/, ''))
  const folder = resolveRealPath(workspace)
  if (!isWithin(folder, top)) {
    return {
      reason: 'outside',
      message: `the repository of '${workspace}' has its files elsewhere: in '${top}' (\`core.worktree\`)`,
      hint: 'use that folder as the workspace, or unset `core.worktree` in its git config',
    }
  }
  if (isWithin(resolveRealPath(root), top)) {
    return {
      reason: 'worktrees_inside',
      message: `the folder for worktrees '${root}' is inside the repository '${top}'`,
      hint: 'choose a folder outside of it with the variable XDG_STATE_HOME',
    }
  }
  return {
    reason: 'no_commits',
    message: `the repository '${top}' has no commits: worktrees begin at a commit`,
    hint: "make a first commit: git add -A && git commit -m 'Initial commit'",
  }
}

const MISSING_GIT = {
  message: 'git worktrees need the program `git`, which cannot be started',
  hint: 'install git 2.38 or newer; on Debian: apt-get install git',
}

function versionProblem(text: string): RepositoryRefusal | undefined {
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(text) ?? []
  const [minMajor, minMinor] = MIN_VERSION
  if (Number(major) > minMajor || (Number(major) === minMajor && Number(minor) >= minMinor)) return undefined
  return {
    reason: 'old_git',
    message: `git is too old for merges in memory: ${text.trim()}; ${MIN_VERSION.join('.')} is needed`,
    hint: 'install a newer git',
  }
}

function noRepository(workspace: string, stderr: string): RepositoryRefusal {
  if (!/not a git repository/i.test(stderr)) {
    return {
      reason: 'unreadable',
      message: `the repository of '${workspace}' cannot be read: ${stderr.split('\n')[0]}`,
      hint: 'run `git status` there to see more',
    }
  }
  return {
    reason: 'no_repository',
    message: `'${workspace}' is not in a git repository`,
    hint: "make it one: git init && git add -A && git commit -m 'Initial commit'",
  }
}

export function isRefusal(found: object): found is RepositoryRefusal {
  return 'reason' in found
}

/** The state of the checkout, with a note for each fact that a person should know. */
export async function describeCheckout(git: Git, checkout: Checkout): Promise<CheckoutState> {
  const { top, gitFolder } = checkout
  const listChanges = ['status', '--porcelain', '-z', '--ignore-submodules=dirty', '--no-renames']
  const [head, branch, status, listed, features] = await Promise.all([
    git.text(['rev-parse', 'HEAD^{commit}']),
    git.run(['symbolic-ref', '--quiet', '--short', 'HEAD'], { statuses: [0, 1] }),
    git.text(listChanges),
    git.text(['ls-tree', '-r', '-z', 'HEAD']),
    findFeatures(git, checkout),
  ])
  const entries = status.split('\0').filter((entry) => entry !== '')
  const untracked = entries.filter((entry) => entry.startsWith('?? ')).length
  const tree = listed.split('\0').filter((line) => line !== '')
  const submodules = tree.filter((line) => line.startsWith('160000 ')).map((line) => line.slice(line.indexOf('\t') + 1))
  const operation = operationInProgress(gitFolder)
  const state = {
    top,
    head,
    ...(branch.status === 0 ? { branch: branch.stdout.toString('utf8').trim() } : undefined),
    dirty: { tracked: entries.length - untracked, untracked },
    submodules,
    features,
    ...(operation ? { operation } : undefined),
    files: tree.length - submodules.length,
  }
  return { ...state, notes: notesAbout(state) }
}

async function findFeatures(git: Git, { common, gitFolder }: Checkout): Promise<CheckoutFeature[]> {
  const searchLfs = ['grep', '-q', '--no-textconv', 'filter=lfs', 'HEAD', '--', '*.gitattributes']
  const searchSettings = ['config', '--type=bool', '--get-regexp', '^(core\\.sparsecheckout|remote\\..*\\.promisor)$']
  const [lfs, settings] = await Promise.all([
    git.run(searchLfs, { statuses: [0, 1] }),
    git.run(searchSettings, { statuses: [0, 1] }),
  ])
  const isSet = (key: RegExp) =>
    settings.stdout
      .toString('utf8')
      .split('\n')
      .some((line) => key.test(line) && line.endsWith(' true'))
  const found: [CheckoutFeature, boolean][] = [
    ['lfs', lfs.status === 0],
    ['sparse', isSet(/^core\.sparsecheckout /)],
    ['shallow', existsSync(join(common, 'shallow'))],
    ['partial', isSet(/^remote\..*\.promisor /)],
    ['linked', gitFolder !== common],
  ]
  return found.filter(([, isThere]) => isThere).map(([feature]) => feature)
}

function operationInProgress(gitFolder: string): CheckoutState['operation'] {
  const has = (name: string) => existsSync(join(gitFolder, name))
  if (has('rebase-merge') || has('rebase-apply')) return 'rebase'
  if (has('MERGE_HEAD')) return 'merge'
  if (has('CHERRY_PICK_HEAD')) return 'cherry-pick'
  if (has('REVERT_HEAD')) return 'revert'
  return has('BISECT_LOG') ? 'bisect' : undefined
}

function notesAbout({ dirty, submodules, features, operation, branch, head }: Omit<CheckoutState, 'notes'>): string[] {
  const notes: string[] = []
  const changed = [
    ...(dirty.tracked > 0 ? [`${dirty.tracked} changed`] : []),
    ...(dirty.untracked > 0 ? [`${dirty.untracked} untracked`] : []),
  ]
  if (changed.length > 0) {
    notes.push(`Agents do not see what is not committed (${changed.join(', ')}); it stays in the checkout.`)
  }
  if (branch === undefined) notes.push(`HEAD is detached at ${head?.slice(0, 12)}; work begins there.`)
  if (operation)
    notes.push(`A ${operation} is in progress in the checkout; it is left alone, and work begins at its HEAD.`)
  if (submodules.length > 0)
    notes.push(`Submodules are empty in worktrees and cannot be changed there: ${submodules.slice(0, 5).join(', ')}.`)
  if (features.includes('lfs'))
    notes.push('Files of Git LFS are pointers in worktrees; changes to them are not committed.')
  if (features.includes('sparse')) notes.push('The checkout is sparse; worktrees have the same part of the files.')
  if (features.includes('partial'))
    notes.push('The repository is a partial clone; objects that are missing are not fetched.')
  return notes
}
