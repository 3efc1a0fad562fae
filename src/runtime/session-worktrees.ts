import type { SessionWorktrees, WorktreeFile, WorktreeResult } from '../kernel/worktree.ts'
import type { Repository } from '../tools/git/repository.ts'

/** Changed files in the result of a session with a worktree. */
const MAX_LISTED = 20

/** The worktrees of sessions in this repository. */
export function sessionWorktrees(repository: Repository): SessionWorktrees {
  return {
    async open(request, signal) {
      const { workspace, branch, base } = await repository.openWorktree(request, signal)
      return { id: request.id, workspace, branch, base }
    },
    async close({ id, base, branch }, agent, signal) {
      // Repeated after a crash, the worktree may be removed already.
      await repository.openWorktree({ id, base }, signal)
      const { head, files, skipped } = await repository.commit({ id, message: `Work of ${agent}` }, signal)
      await repository.removeWorktree({ id, branch: files.length === 0 ? 'delete' : 'keep' }, signal)
      const changes = { branch, head, files, skipped }
      return { ...changes, summary: formatWorktreeResult(changes) }
    },
  }
}

/** Tells where the work of a session in a worktree is: its files are not in the folder of the caller. */
function formatWorktreeResult({ branch, files, skipped }: Omit<WorktreeResult, 'summary'>): string {
  const left = skipped.map(({ path, reason }) => `not committed: ${path} (${reason})`)
  if (files.length === 0) return section(['No files were changed.', ...left])
  const listed = files.slice(0, MAX_LISTED).map(describeChange)
  const more = files.length > MAX_LISTED ? [`and ${files.length - MAX_LISTED} more`] : []
  return section([
    `The changes are committed on the branch ${branch}, not in the checkout. To get them: git merge ${branch}`,
    ...listed,
    ...more,
    ...left,
  ])
}

function section(lines: readonly string[]): string {
  return ['[worktree]', ...lines].join('\n')
}

/** Paths are untrusted: control characters could begin a line of their own. */
function describeChange({ change, path, from }: WorktreeFile): string {
  const quote = (text: string) => (/[\p{C}\p{Zl}\p{Zp}]/u.test(text) ? JSON.stringify(text) : text)
  return from === undefined ? `${change}: ${quote(path)}` : `${change}: ${quote(from)} -> ${quote(path)}`
}
