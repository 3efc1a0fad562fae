import type { Dirent } from 'node:fs'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { TroupeError } from '../../errors.ts'
import type { CheckoutState, Leftover, Repository, RepositoryRefusal, WorktreeId } from '../../kernel/repository.ts'
import { KeyedMutex } from '../files/keyed-mutex.ts'
import { isWithin } from '../files/protected-paths.ts'
import { findProgram } from '../search/ripgrep.ts'
import { checkVersion, describeCheckout, findCheckout, isRefusal } from './checkout.ts'
import { diffCommits, listFiles, readFileAt, restorePaths } from './commit-reader.ts'
import { createGit } from './git-client.ts'
import { noGitRefusal, refusalError } from './git-errors.ts'
import type { GitProgram } from './git-process.ts'
import { mergeIntoWorktree, previewMerge, resetFiles, startMerge } from './merges.ts'
import type { CommitSettings } from './user-settings.ts'
import { readUserSettings } from './user-settings.ts'
import { commitChanges, readChanges } from './worktree-changes.ts'
import { BRANCH_PREFIX, isWorktreeId, placeFor, worktreeNameOf } from './worktree-place.ts'
import type { WorktreeScope } from './worktrees.ts'
import {
  listWorktrees,
  openWorktree,
  removeWorktree,
  requireCommit,
  requireWorktree,
  resolveCommit,
} from './worktrees.ts'

export interface RepositoryOptions {
  /** The folder that agents work in, anywhere in the checkout. */
  workspace: string
  /** The folder for worktrees of all repositories. */
  worktrees: string
  /** The home folder of the user, for the author of commits. */
  home: string
  /** The trusted `PATH`: without folders that an agent can write to (PATH hijacking). */
  path: string
}

/** The git repository of a workspace. Nothing is read before the first operation. */
export function createRepository(options: RepositoryOptions): Repository {
  const mutex = new KeyedMutex()
  const scopeFor = (signal: AbortSignal | undefined) => openScope(options, signal)
  /** One change of a worktree at a time; others go on meanwhile. */
  const exclusive = <T>({ run_id, name }: WorktreeId, work: () => Promise<T>) =>
    mutex.runExclusive(`${run_id}/${name}`, work)
  return {
    inspect: (signal) => inspect(options, signal),
    openWorktree: (request, signal) => exclusive(request.id, async () => openWorktree(await scopeFor(signal), request)),
    changes: (request, signal) =>
      exclusive(request.id, async () => {
        const scope = await scopeFor(signal)
        return readChanges(scope, await settingsFor(options, scope), request)
      }),
    commit: (request, signal) =>
      exclusive(request.id, async () => {
        const scope = await scopeFor(signal)
        return commitChanges(scope, await settingsFor(options, scope), request)
      }),
    preflightMerge: async (request, signal) => previewMerge(await scopeFor(signal), request),
    merge: (request, signal) =>
      exclusive(request.into, async () => {
        const scope = await scopeFor(signal)
        return mergeIntoWorktree(scope, await settingsFor(options, scope), request)
      }),
    startMerge: (request, signal) =>
      exclusive(request.into, async () => {
        const scope = await scopeFor(signal)
        return startMerge(scope, await settingsFor(options, scope), request)
      }),
    discardChanges: (id, signal) =>
      exclusive(id, async () => {
        const scope = await scopeFor(signal)
        await resetFiles(scope, await requireWorktree(scope, id))
      }),
    removeWorktree: (request, signal) =>
      exclusive(request.id, async () => removeWorktree(await scopeFor(signal), request)),
    restorePaths: (request, signal) => exclusive(request.id, async () => restorePaths(await scopeFor(signal), request)),
    listFiles: async (ref, signal) => listFiles(await scopeFor(signal), ref),
    readFile: async (request, signal) => readFileAt(await scopeFor(signal), request),
    diff: async (request, signal) => diffCommits(await scopeFor(signal), request),
    setBranch: async ({ id, branch }, signal) => setBranch(await scopeFor(signal), id, branch),
    leftovers: async (signal) => {
      const found = await locate(options, signal)
      return isRefusal(found) ? [] : listLeftovers(found)
    },
  }
}

function gitProgram({ path }: RepositoryOptions): GitProgram | undefined {
  const program = findProgram('git', path)
  return program === undefined ? undefined : { program, path }
}

/** Programs whose version was checked. */
const checkedPrograms = new Set<string>()

async function versionProblemOf(
  program: GitProgram,
  signal: AbortSignal | undefined,
): Promise<RepositoryRefusal | undefined> {
  if (checkedPrograms.has(program.program)) return undefined
  const problem = await checkVersion(program, signal)
  if (!problem) checkedPrograms.add(program.program)
  return problem
}

async function locate(
  options: RepositoryOptions,
  signal: AbortSignal | undefined,
): Promise<WorktreeScope | RepositoryRefusal> {
  const program = gitProgram(options)
  if (!program) return noGitRefusal()
  const problem = await versionProblemOf(program, signal)
  if (problem) return problem
  const checkout = await findCheckout(program, { workspace: options.workspace, root: options.worktrees }, signal)
  if (isRefusal(checkout)) return checkout
  const git = createGit(program, checkout.top, { repository: checkout.common, worktrees: options.worktrees })
  return { git, checkout, signal }
}

async function openScope(options: RepositoryOptions, signal: AbortSignal | undefined): Promise<WorktreeScope> {
  const found = await locate(options, signal)
  if (isRefusal(found)) throw refusalError(found)
  return found
}

async function inspect(options: RepositoryOptions, signal: AbortSignal | undefined): Promise<CheckoutState> {
  const found = await locate(options, signal)
  if (!isRefusal(found)) return describeCheckout(found.git, found.checkout, signal)
  return {
    refusal: found,
    dirty: { tracked: 0, untracked: 0 },
    submodules: [],
    features: [],
    files: 0,
    notes: [],
  }
}

async function settingsFor(options: RepositoryOptions, { checkout, signal }: WorktreeScope): Promise<CommitSettings> {
  const program = gitProgram(options)
  if (!program) throw refusalError(noGitRefusal())
  const { home } = options
  return readUserSettings(program, { folder: checkout.top, worktrees: checkout.worktrees, home }, signal)
}

async function setBranch(scope: WorktreeScope, id: WorktreeId, branch: string): Promise<void> {
  const { git, checkout, signal } = scope
  const { status } = await git.run(['check-ref-format', '--branch', branch], { signal, statuses: [0, 1, 128] })
  if (!branch.startsWith(BRANCH_PREFIX) || status !== 0) {
    throw new TroupeError('invalid_input', `\`branch\` is invalid: '${branch.slice(0, 120)}'`, {
      hint: `use a name that begins with ${BRANCH_PREFIX}; Troupe changes no other branches`,
    })
  }
  const head = await requireCommit(scope, placeFor(checkout.worktrees, id).ref)
  await git.run(['update-ref', '-m', 'troupe: result', `refs/heads/${branch}`, head], { signal })
}

/** Worktrees and branches of Troupe in this repository, and folders that git does not know. */
async function listLeftovers(scope: WorktreeScope): Promise<Leftover[]> {
  const { git, checkout, signal } = scope
  const refs = await git.text(['for-each-ref', '--format=%(refname)', `refs/heads/${BRANCH_PREFIX}`], { signal })
  const listed = (await listWorktrees(scope))
    .map(({ path }) => path)
    .filter((path) => isWithin(path, checkout.worktrees))
  const ids = new Map<string, WorktreeId>()
  const add = (run_id: string | undefined, name: string | undefined) => {
    // A branch with another name is not of Troupe, whatever its prefix.
    if (run_id !== undefined && name !== undefined && isWorktreeId({ run_id, name }))
      ids.set(`${run_id}/${name}`, { run_id, name })
  }
  for (const ref of refs.split('\n')) add(...parts(ref.slice(`refs/heads/${BRANCH_PREFIX}`.length)))
  for (const path of [...listed, ...placesIn(checkout.worktrees)])
    add(...parts(path.slice(checkout.worktrees.length + 1)))
  const found: Leftover[] = []
  for (const id of ids.values()) found.push(await describeLeftover(scope, id))
  return found
}

function parts(path: string): [string | undefined, string | undefined] {
  const [run_id, name, ...more] = path.split('/')
  return more.length > 0 ? [undefined, undefined] : [run_id, name]
}

/** The folders of worktrees, also those that only have a file beside them: a process was killed while it made or removed them. */
function placesIn(root: string): string[] {
  const runs = entriesIn(root).filter((entry) => entry.isDirectory())
  return runs.flatMap((run) =>
    entriesIn(join(root, run.name)).map(({ name }) => join(root, run.name, worktreeNameOf(name))),
  )
}

function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

async function describeLeftover(scope: WorktreeScope, id: WorktreeId): Promise<Leftover> {
  const { git, checkout, signal } = scope
  const { path, branch, ref } = placeFor(checkout.worktrees, id)
  const hasFolder = existsSync(path)
  const hasBranch = (await resolveCommit(scope, ref)) !== undefined
  const commits = hasBranch ? await git.text(['rev-list', '--count', `${checkout.head}..${ref}`], { signal }) : '0'
  const status = hasFolder
    ? await git.run(['status', '--porcelain', '-z', '--ignore-submodules=all', '--no-renames'], {
        signal,
        worktree: path,
        statuses: [0, 128],
      })
    : undefined
  const entries = status?.stdout.toString('utf8').split('\0') ?? []
  const uncommitted = entries.filter((entry) => entry !== '' && !/^\?\? (.*\/)?\.troupe\/$/.test(entry)).length
  return { id, branch, ...(hasFolder ? { path } : undefined), commits: Number(commits), uncommitted }
}
