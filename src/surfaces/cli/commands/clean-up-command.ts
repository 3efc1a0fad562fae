import type { Troupe } from '../../../index.ts'
import { pluralize } from '../../../views/format-amount.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import type { LeftWorktrees } from '../left-worktrees.ts'
import { findLeftWorktrees, isAtWork, leftWorktreeHint, workspaceOf } from '../left-worktrees.ts'
import { withTroupe } from '../open-troupe.ts'
import { BUILD_PATTERN } from './build-command.ts'

/** Removes the worktrees and branches of builds that are not at work. An interrupted one is cancelled: it cannot be resumed without them. */
export function cleanUpCommand(cli: Cli): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const found = await findLeftWorktrees(cli, troupe)
    const builds = found.filter(({ run }) => run?.pattern === BUILD_PATTERN)
    const removed: LeftWorktrees[] = []
    for (const left of builds) if (await removeLeftWorktrees(cli, troupe, left)) removed.push(left)
    const kept = found.filter((left) => !removed.includes(left))
    if (cli.options.json) printJson(cli, { removed: removed.map(toRecord), kept: kept.map(toRecord) })
    else report(cli, removed, kept)
    return EXIT.done
  })
}

async function removeLeftWorktrees(cli: Cli, troupe: Troupe, left: LeftWorktrees): Promise<boolean> {
  const { run_id, status, leftovers } = left
  if (status === 'interrupted') await troupe.cancel(run_id, 'its worktrees were removed')
  // Another process may have resumed it meanwhile.
  if (isAtWork(troupe, await troupe.getRun(run_id))) return false
  const { removeLeftover } = await import('../../../runtime/tool-ports.ts')
  for (const { id } of leftovers) await removeLeftover(workspaceOf(cli), id)
  return true
}

function toRecord({ run_id, status, leftovers }: LeftWorktrees) {
  return { run_id, status, worktrees: leftovers }
}

function report({ terminal }: Cli, removed: readonly LeftWorktrees[], kept: readonly LeftWorktrees[]): void {
  for (const { run_id, status, leftovers } of removed)
    terminal.print(`removed ${pluralize(leftovers.length, 'worktree')} of build ${run_id} (${status})`)
  for (const left of kept)
    for (const leftover of left.leftovers)
      terminal.note(
        `kept ${leftover.path ?? leftover.branch} of run ${left.run_id} (${left.status}); ${leftWorktreeHint(left, leftover)}`,
      )
  if (removed.length === 0) terminal.note('no build has left worktrees in this repository')
}
