import { TroupeError } from '../../errors.ts'
import type { WorktreeId } from '../../kernel/worktree.ts'
import { KeyedMutex } from '../files/keyed-mutex.ts'
import { findProgram } from '../search/ripgrep.ts'
import type { Checkout } from './checkout.ts'
import { checkVersion, describeCheckout, findCheckout, isRefusal, readCheckoutState } from './checkout.ts'
import { diffCommits, listFiles, readFileAt, restorePaths } from './commit-reader.ts'
import type { GitDeps } from './git-client.ts'
import { createGit } from './git-client.ts'
import { noGitRefusal, refusalError } from './git-errors.ts'
import type { GitProgram } from './git-process.ts'
import { listLeftovers, listWorktreeIds } from './leftovers.ts'
import { mergeIntoWorktree, previewMerge, resetFiles, startMerge } from './merges.ts'
import { createProgramSettings } from './program-settings.ts'
import type { CheckoutState, Repository, RepositoryRefusal } from './repository.ts'
import type { CommitSettings } from './user-settings.ts'
import { readUserSettings } from './user-settings.ts'
import { commitChanges, readChanges } from './worktree-changes.ts'
import { BRANCH_PREFIX, placeFor } from './worktree-place.ts'
import type { WorktreeScope } from './worktrees.ts'
import { openWorktree, removeWorktree, requireCommit, requireWorktree } from './worktrees.ts'

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
  const locate = createLocator(options)
  const scopeFor = async (signal: AbortSignal | undefined) => {
    const found = await locate(signal)
    if (isRefusal(found)) throw refusalError(found)
    return found
  }
  /** One change of a worktree at a time; others go on meanwhile. */
  const exclusive = <T>({ run_id, name }: WorktreeId, work: () => Promise<T>) =>
    mutex.runExclusive(`${run_id}/${name}`, work)
  return {
    inspect: async (signal) => inspect(await locate(signal)),
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
        await resetFiles(scope, requireWorktree(scope, id))
      }),
    removeWorktree: (request, signal) =>
      exclusive(request.id, async () => removeWorktree(await scopeFor(signal), request)),
    restorePaths: (request, signal) => exclusive(request.id, async () => restorePaths(await scopeFor(signal), request)),
    listFiles: async (ref, signal) => listFiles(await scopeFor(signal), ref),
    readFile: async (request, signal) => readFileAt(await scopeFor(signal), request),
    diff: async (request, signal) => diffCommits(await scopeFor(signal), request),
    setBranch: async ({ id, branch }, signal) => setBranch(await scopeFor(signal), id, branch),
    listWorktrees: async (signal) => listWorktreeIds(await scopeFor(signal)),
    leftovers: async (signal) => {
      const found = await locate(signal)
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

type Locator = (signal: AbortSignal | undefined) => Promise<WorktreeScope | RepositoryRefusal>

/** Finds the checkout, and again whenever its config, or the folders that lead to it, have changed. */
function createLocator(options: RepositoryOptions): Locator {
  const { workspace, worktrees: root } = options
  let known: { state: string; deps: GitDeps; checkout: Checkout } | undefined
  return async (signal) => {
    const program = gitProgram(options)
    if (!program) return noGitRefusal()
    const state = readCheckoutState({ workspace, root })
    if (state === undefined || known?.state !== state || known.deps.program.program !== program.program) {
      known = undefined
      const problem = await versionProblemOf(program, signal)
      if (problem) return problem
      const checkout = await findCheckout(program, { workspace, root }, signal)
      if (isRefusal(checkout)) return checkout
      known = { state: state ?? '', deps: { program, settingsFor: createProgramSettings(program) }, checkout }
    }
    const { deps, checkout } = known
    const git = createGit(deps, checkout.top, { repository: checkout.common, worktrees: root })
    return { git, checkout, signal }
  }
}

async function inspect(found: WorktreeScope | RepositoryRefusal): Promise<CheckoutState> {
  if (!isRefusal(found)) return describeCheckout(found.git, found.checkout, found.signal)
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
