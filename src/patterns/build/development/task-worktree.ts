import type { ChangedFile, Worktree } from '../../../tools/git/repository.ts'
import type { BuildScope } from '../build-scope.ts'
import { gitStep } from '../build-scope.ts'
import type { PlannedTask } from '../contracts.ts'
import { isInScope } from '../plan/scope.ts'

/** The work of a task as git sees it, after changes outside its scope were undone. */
export interface CollectedWork {
  files: ChangedFile[]
  /** Paths out of scope that were undone. */
  outside: string[]
  head: string
  /** Files that still have conflict markers: nothing is committed while there are any. */
  unresolved: string[]
}

interface CollectRequest {
  task: PlannedTask
  worktree: Worktree
  /** The commit that the changes are compared with. */
  since: string
  key: string
}

/** Checks the scope on the diff, undoes what is outside, and commits the rest. */
export async function collectWork(
  { context, prefix }: BuildScope,
  { task, worktree, since, key }: CollectRequest,
): Promise<CollectedWork> {
  const { id } = worktree
  const found = await gitStep(context, `${key}/changes`, (repository, signal) =>
    repository.changes({ id, base: since }, signal),
  )
  const outside = found.files.filter((file) => !isAllowed(file, task.scope, prefix))
  const paths = [...new Set(outside.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from])))]
  if (paths.length > 0) {
    await gitStep(context, `${key}/restore`, (repository, signal) =>
      repository.restorePaths({ id, base: since, paths }, signal),
    )
  }
  const message = `${task.task_id}: ${task.title}`
  // The checked tree is the one to commit, unless something was undone since.
  const checked = paths.length > 0 ? undefined : { tree: found.tree }
  const commit = await gitStep(context, `${key}/commit`, (repository, signal) =>
    repository.commit({ id, message, ...checked }, signal),
  )
  const files = found.files.filter((file) => !outside.includes(file))
  return { files, outside: paths, head: commit.head, unresolved: commit.unresolved }
}

/** Both ends of a rename have to be in scope. */
function isAllowed({ path, from }: ChangedFile, scope: readonly string[], prefix: string): boolean {
  const isWithin = (file: string) => file.startsWith(prefix) && isInScope(scope, file.slice(prefix.length))
  return isWithin(path) && (from === undefined || isWithin(from))
}
