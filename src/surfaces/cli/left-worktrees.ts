import { toTroupeError } from '../../errors.ts'
import type { RunRow, Troupe } from '../../index.ts'
import type { findLeftovers } from '../../runtime/tool-ports.ts'
import { pluralize } from '../../views/format-amount.ts'
import type { Cli } from './cli.ts'
import { BUILD_PATTERN } from './commands/build-command.ts'
import { storeExists } from './open-troupe.ts'

type Leftover = Awaited<ReturnType<typeof findLeftovers>>[number]

/** A run that is not at work, and what it left in the repository. */
export interface LeftWorktrees {
  run_id: string
  /** `undefined` for a run that is not in this store: it may be at work with another one. */
  run: RunRow | undefined
  /** Its status; `interrupted` if its process was killed. */
  status: string
  leftovers: Leftover[]
}

/** Worktrees that a crash, a failure or a cancellation left in the repository of the workspace. Those of runs at work are not among them. */
export async function findLeftWorktrees(cli: Cli, troupe: Troupe): Promise<LeftWorktrees[]> {
  const ports = await import('../../runtime/tool-ports.ts')
  const leftovers = await ports.findLeftovers(workspaceOf(cli))
  const found: LeftWorktrees[] = []
  for (const [run_id, all] of Map.groupBy(leftovers, ({ id }) => id.run_id)) {
    const run = storeExists(cli) ? await findRow(troupe, run_id) : undefined
    if (run && isAtWork(troupe, run)) continue
    const isInterrupted = run?.status === 'running' || run?.status === 'pending'
    // A branch alone is the work of a session that ended, unless the process was killed while it removed the worktree.
    const left = all.filter(({ path }) => path !== undefined || isInterrupted)
    const status = isInterrupted ? 'interrupted' : (run?.status ?? 'not in this store')
    if (left.length > 0) found.push({ run_id, run, status, leftovers: left })
  }
  return found
}

export function workspaceOf({ options }: Cli): string {
  return options.workspace ?? process.cwd()
}

/** Waiting for a person or a process counts as work: the run goes on without anybody's doing. */
export function isAtWork(troupe: Troupe, run: RunRow): boolean {
  return troupe.isRunning(run) || run.status === 'waiting' || (run.status === 'pending' && run.epoch === 0)
}

async function findRow(troupe: Troupe, run_id: string): Promise<RunRow | undefined> {
  try {
    return await troupe.getRun(run_id)
  } catch (thrown) {
    if (toTroupeError(thrown).code === 'unknown_run') return undefined
    throw thrown
  }
}

/** The commands for what was left: continue it, or remove it. */
export function leftWorktreeHint({ run_id, run, status }: LeftWorktrees, { path, branch }: Leftover): string {
  const byHand = `git worktree remove --force '${path}' && git branch -D ${branch}`
  const remove = run?.pattern === BUILD_PATTERN ? `troupe build --clean-up` : byHand
  const isResumable = status === 'interrupted' || status === 'failed'
  return `${isResumable ? `to continue: troupe resume ${run_id}; ` : ''}to remove it: ${remove}`
}

/** Offers what earlier builds left, before a new one begins. */
export async function noteLeftWorktrees(cli: Cli, troupe: Troupe): Promise<void> {
  for (const { run_id, run, status, leftovers } of await findLeftWorktrees(cli, troupe)) {
    if (run?.pattern !== BUILD_PATTERN) continue
    const isResumable = status === 'interrupted' || status === 'failed'
    const resume = isResumable ? `troupe resume ${run_id} continues it; ` : ''
    cli.terminal.note(
      `build ${run_id} (${status}) left ${pluralize(leftovers.length, 'worktree')} in this repository: ${resume}troupe build --clean-up removes them`,
    )
  }
}
