import { TroupeError } from '../../errors.ts'
import type { WorktreeId } from '../../kernel/worktree.ts'
import { KeyedMutex } from '../files/keyed-mutex.ts'
import { findProgram } from '../search/ripgrep.ts'
import type { Checkout } from './checkout.ts'
import { checkVersion, describeCheckout, findCheckout, isRefusal, readCheckoutState } from './checkout.ts'
import { diffCommits, listFiles, readFileAt, restorePaths } from './commit-reader.ts'
import { createGit } from './git-client.ts'
import { noGitRefusal, refusalError } from './git-errors.ts'
import type { GitProgram } from './git-process.ts'
import { listLeftovers, listWorktreeIds } from './leftovers.ts'
import { mergeIntoWorktree, previewMerge, resetFiles, startMerge } from './merges.ts'
import type { ProgramSettings } from './program-settings.ts'
import { createProgramSettings } from './program-settings.ts'
import type { CheckoutState, Repository, RepositoryRefusal } from './repository.ts'
import { readUserSettings } from './user-settings.ts'
import { commitChanges, readChanges } from './worktree-changes.ts'
import { BRANCH_PREFIX, placeFor } from './worktree-place.ts'
import type { CommitScope, WorktreeScope } from './worktrees.ts'
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
  const commitScopeFor = async (signal: AbortSignal | undefined): Promise<CommitScope> => {
    const scope = await scopeFor(signal)
    const { top: folder, worktrees } = scope.checkout
    return { ...scope, settings: await readUserSettings(scope.program, { folder, worktrees, home: options.home }) }
  }
  return {
    inspect: async (signal) => inspect(await locate(signal)),
    openWorktree: (request, signal) => exclusive(request.id, async () => openWorktree(await scopeFor(signal), request)),
    changes: (request, signal) => exclusive(request.id, async () => readChanges(await commitScopeFor(signal), request)),
    commit: (request, signal) =>
      exclusive(request.id, async () => commitChanges(await commitScopeFor(signal), request)),
    preflightMerge: async (request, signal) => previewMerge(await scopeFor(signal), request),
    merge: (request, signal) =>
      exclusive(request.into, async () => mergeIntoWorktree(await commitScopeFor(signal), request)),
    startMerge: (request, signal) =>
      exclusive(request.into, async () => startMerge(await commitScopeFor(signal), request)),
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

/** Programs whose version was checked. */
const checkedPrograms = new Set<string>()

async function versionProblemOf(program: GitProgram): Promise<RepositoryRefusal | undefined> {
  if (checkedPrograms.has(program.program)) return undefined
  const problem = await checkVersion(program)
  if (!problem) checkedPrograms.add(program.program)
  return problem
}

type Locator = (signal: AbortSignal | undefined) => Promise<WorktreeScope | RepositoryRefusal>

/** Finds the checkout, and again whenever its config, or the folders that lead to it, have changed. */
function createLocator(options: RepositoryOptions): Locator {
  const { workspace, worktrees: root } = options
  let known: { state: string; program: string; settingsFor: ProgramSettings; checkout: Checkout } | undefined
  return async (signal) => {
    const found = findProgram('git', options.path)
    if (found === undefined) return noGitRefusal()
    const program: GitProgram = { program: found, path: options.path, signal }
    const state = readCheckoutState({ workspace, root })
    if (state === undefined || known?.state !== state || known.program !== found) {
      known = undefined
      const problem = await versionProblemOf(program)
      if (problem) return problem
      const checkout = await findCheckout(program, { workspace, root })
      if (isRefusal(checkout)) return checkout
      known = { state: state ?? '', program: found, settingsFor: createProgramSettings(), checkout }
    }
    const { settingsFor, checkout } = known
    const git = createGit({ program, settingsFor }, checkout.top, { repository: checkout.common, worktrees: root })
    return { git, checkout, program }
  }
}

async function inspect(found: WorktreeScope | RepositoryRefusal): Promise<CheckoutState> {
  if (!isRefusal(found)) return describeCheckout(found.git, found.checkout)
  return {
    refusal: found,
    dirty: { tracked: 0, untracked: 0 },
    submodules: [],
    features: [],
    files: 0,
    notes: [],
  }
}

async function setBranch(scope: WorktreeScope, id: WorktreeId, branch: string): Promise<void> {
  const { git, checkout } = scope
  const { status } = await git.run(['check-ref-format', '--branch', branch], { statuses: [0, 1, 128] })
  if (!branch.startsWith(BRANCH_PREFIX) || status !== 0) {
    throw new TroupeError('invalid_input', `\`branch\` is invalid: '${branch.slice(0, 120)}'`, {
      hint: `use a name that begins with ${BRANCH_PREFIX}; Troupe changes no other branches`,
    })
  }
  const head = await requireCommit(scope, placeFor(checkout.worktrees, id).ref)
  await git.run(['update-ref', '-m', 'troupe: result', `refs/heads/${branch}`, head])
}
