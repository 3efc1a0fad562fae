/** Belongs to a run. Its branch is `troupe/<run_id>/<name>`. */
export interface WorktreeId {
  run_id: string
  /** Letters, digits and `._-`, such as the id of a task. */
  name: string
}

/** The git worktree of a session whose agent has `isolation: worktree`. */
export interface SessionWorktree {
  id: WorktreeId
  /** The folder that the session works in. */
  workspace: string
  branch: string
  /** The commit that the branch began at. */
  base: string
}

export interface WorktreeFile {
  path: string
  change: 'created' | 'modified' | 'deleted' | 'renamed'
  /** The former path of a renamed file. */
  from?: string
}

/** The work of a session in its worktree. Without `files`, the branch was removed again. */
export interface WorktreeResult {
  branch: string
  head: string
  files: WorktreeFile[]
  /** Changes that git cannot keep. */
  skipped: { path: string; reason: string }[]
  /** The same for people and models; add it to what the caller gets as the answer. */
  summary: string
}

/** Gives sessions worktrees. Both are idempotent: called again after a crash at any point, they find their work done or complete it. */
export interface SessionWorktrees {
  /** Opens the worktree, at `base` or else where the user's checkout is. */
  open(request: { id: WorktreeId; base?: string }, signal: AbortSignal): Promise<SessionWorktree>
  /** Commits the work of the agent and removes the worktree; the branch stays if there is work on it. */
  close(worktree: SessionWorktree, agent: string, signal: AbortSignal): Promise<WorktreeResult>
}
