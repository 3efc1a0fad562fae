import type { PatternPart } from '../../kernel/pattern-part.ts'
import type { WorktreeFile, WorktreeId } from '../../kernel/worktree.ts'

/*
 * The repository port: work in git worktrees beside the user's checkout.
 * 1. The user's working tree, index, `HEAD`, stash and branches other than `troupe/…` are never changed.
 * 2. Every operation is idempotent: called again with the same arguments, after a crash at any point, it finds its work done or completes it.
 *    In a pattern, call them inside a step of kind `idempotent`.
 * 3. Nothing that the repository names is executed: no hooks, filters, merge drivers or other programs of its config.
 */

export interface Worktree {
  id: WorktreeId
  /** The top folder of the worktree. */
  path: string
  /** The folder in it that corresponds to the workspace, which may be a subfolder of the repository: `workspace` of a session. */
  workspace: string
  branch: string
  /** The commit that the branch began at. */
  base: string
  /** The commit at its tip. */
  head: string
}

/** Why worktrees cannot be used here. */
export interface RepositoryRefusal {
  reason: 'no_git' | 'old_git' | 'no_repository' | 'bare' | 'no_commits' | 'outside' | 'worktrees_inside' | 'unreadable'
  message: string
  hint: string
}

/**
 * `lfs`: files of Git LFS are pointers in a worktree. `sparse`: a worktree has the same part of the files. `shallow`: older history is
 * missing. `partial`: objects that are missing are not fetched. `linked`: the checkout is itself a linked worktree.
 */
export type CheckoutFeature = 'lfs' | 'sparse' | 'shallow' | 'partial' | 'linked'

/** The state of the user's checkout. */
export interface CheckoutState {
  /** The reason why no worktree can be opened; the other fields are then as far as they are known. */
  refusal?: RepositoryRefusal
  /** The top folder of the checkout. */
  top?: string
  /** The branch that is checked out; `undefined` for a detached `HEAD`. */
  branch?: string
  /** The commit that is checked out: worktrees are based on it. */
  head?: string
  /** Changes that are not committed. They stay in the checkout and are not part of a worktree. */
  dirty: { tracked: number; untracked: number }
  /** Paths of submodules. A worktree has them as empty folders. */
  submodules: string[]
  features: CheckoutFeature[]
  operation?: 'merge' | 'rebase' | 'cherry-pick' | 'revert' | 'bisect'
  /** Tracked files at `head`. */
  files: number
  /** Notes for a person before work begins: one sentence for each of the facts above that matters. */
  notes: string[]
}

export interface ChangedFile extends WorktreeFile {
  /** Of the new version; of the old one for a deleted file. */
  type: 'file' | 'executable' | 'link' | 'submodule'
  /** The target of a link. It may lead anywhere. */
  target?: string
  /** Only the mode has changed, such as `chmod +x`. */
  mode_only?: true
}

/** A change that is not committed, because git cannot keep it. */
export interface SkippedChange {
  path: string
  reason: string
}

export interface WorktreeChanges {
  files: ChangedFile[]
  skipped: SkippedChange[]
}

export interface StagedChanges extends WorktreeChanges {
  /** The files of the worktree, as a tree of git: `commit` can commit exactly what was looked at. */
  tree: string
}

export interface Commit extends WorktreeChanges {
  /** The tip of the branch. `files` are the changes since `base`, not since the commit before. */
  head: string
  /** Files that still have conflict markers of `startMerge`; nothing is committed while there are any. */
  unresolved: string[]
}

/** One version of a file in a conflict. */
export interface ConflictSide {
  /** `undefined` if this side has deleted the file or never had it. */
  text?: string
  binary?: true
  /** The text is longer than the bound and was cut. */
  truncated?: true
}

export interface MergeConflict {
  path: string
  /** As git names it, such as `contents` or `modify/delete`. */
  kind: string
  base: ConflictSide
  ours: ConflictSide
  theirs: ConflictSide
}

/** A merge in memory. `tree` has conflict markers where there are conflicts. */
export interface MergePreview {
  conflicts: MergeConflict[]
  tree: string
}

export type MergeResult = { merged: true; head: string } | { merged: false; conflicts: MergeConflict[] }

/** A worktree or branch of an earlier run. */
export interface Leftover {
  id: WorktreeId
  branch: string
  /** The folder of the worktree; `undefined` if only the branch is there. */
  path?: string
  /** Commits of the branch that the user's `HEAD` does not have. */
  commits: number
  /** Files that are not committed. */
  uncommitted: number
}

/** Reads from the repository itself, whatever the worktrees hold. */
export interface RepositoryReader {
  /** The worktrees of this and other runs, also those of which only the branch or the folder is left. */
  listWorktrees(signal?: AbortSignal): Promise<WorktreeId[]>
  /** The files at a commit or branch. */
  listFiles(ref: string, signal?: AbortSignal): Promise<string[]>
  /** The text of a file at a commit or branch; `undefined` if there is none, or it is no text or longer than 1 MB. */
  readFile(request: { ref: string; path: string }, signal?: AbortSignal): Promise<string | undefined>
  /** The unified diff between two commits or branches, without external programs and cut off at `max_chars`. */
  diff(
    request: { from: string; to: string; max_chars: number },
    signal?: AbortSignal,
  ): Promise<{ text: string; truncated: boolean }>
}

export interface Repository extends RepositoryReader, PatternPart<'repository'> {
  /** Reads the state of the user's checkout. It does not throw for a folder that is no repository: see `refusal`. */
  inspect(signal?: AbortSignal): Promise<CheckoutState>
  /** Opens a worktree on its branch, created at `base` (default: the user's `HEAD`). An existing branch of this name is continued. */
  openWorktree(request: { id: WorktreeId; base?: string }, signal?: AbortSignal): Promise<Worktree>
  /** The changes of a worktree since `base` (default: its own), committed or not, untracked files included. */
  changes(request: { id: WorktreeId; base?: string }, signal?: AbortSignal): Promise<StagedChanges>
  /** Commits everything that has changed, or `tree` of `changes`, without hooks and signature, as the user of the git config. */
  commit(request: { id: WorktreeId; message: string; tree?: string }, signal?: AbortSignal): Promise<Commit>
  /** Merges two commits or branches in memory; changes no worktree and no branch. */
  preflightMerge(request: { ours: string; theirs: string }, signal?: AbortSignal): Promise<MergePreview>
  /** Merges a commit or branch into the branch of a worktree and updates its files. With conflicts nothing changes. */
  merge(request: { into: WorktreeId; theirs: string; message: string }, signal?: AbortSignal): Promise<MergeResult>
  /**
   * Begins a merge into a worktree that an agent completes: its files get conflict markers, and the next `commit` has both parents.
   * Without conflicts it merges at once.
   */
  startMerge(request: { into: WorktreeId; theirs: string; message: string }, signal?: AbortSignal): Promise<MergeResult>
  /** Undoes changes of a worktree that are not committed. */
  discardChanges(id: WorktreeId, signal?: AbortSignal): Promise<void>
  /** Gives these paths of a worktree the state that they have at `base`; a path that is not there is removed. Nothing is committed. */
  restorePaths(request: { id: WorktreeId; base: string; paths: readonly string[] }, signal?: AbortSignal): Promise<void>
  /** Removes the folder of a worktree, with changes that are not committed. Its branch stays, unless `branch` is `delete`. */
  removeWorktree(request: { id: WorktreeId; branch: 'keep' | 'delete' }, signal?: AbortSignal): Promise<void>
  /** Creates or moves a branch `troupe/…` to the tip of a worktree, for the result of a run. */
  setBranch(request: { id: WorktreeId; branch: string }, signal?: AbortSignal): Promise<void>
  /** The same as `listWorktrees`, with what is in them. */
  leftovers(signal?: AbortSignal): Promise<Leftover[]>
}
