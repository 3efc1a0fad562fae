import type { ChangedFile, WorktreeResult } from '../kernel/repository.ts'

const MAX_LISTED = 20

/** Tells where the work of a session in a worktree is: its files are not in the folder of the caller. */
export function formatWorktreeResult({ branch, files, skipped }: Omit<WorktreeResult, 'summary'>): string {
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
function describeChange({ change, path, from }: ChangedFile): string {
  const quote = (text: string) => (/[\p{C}\p{Zl}\p{Zp}]/u.test(text) ? JSON.stringify(text) : text)
  return from === undefined ? `${change}: ${quote(path)}` : `${change}: ${quote(from)} -> ${quote(path)}`
}
