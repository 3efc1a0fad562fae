import { TroupeError } from '../../../errors.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { runViewFrom } from '../../../views/run-view.ts'
import type { Cli } from '../cli.ts'
import { exitCodeFrom } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { followRun, printResult } from '../follow-run.ts'
import { limitsFrom } from '../limit-option.ts'
import { withTroupe } from '../open-troupe.ts'
import { requireSameModel } from '../require-same-model.ts'

/** Resumes a run that was interrupted, crashed, waits, failed, or completed without some of its work. */
export async function resumeCommand(cli: Cli<{ force?: boolean }>, runId: string): Promise<number> {
  const limits = await limitsFrom(cli)
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, runId)
    const result = await troupe.result(row.run_id)
    if ((row.status === 'completed' && !result.incomplete) || row.status === 'cancelled') {
      if (!cli.options.json) cli.terminal.note(`${row.run_id} has already ended`)
      const views = await loadPatternViews(await troupe.patterns())
      await printResult(cli, result, runViewFrom(await troupe.events(row.run_id).all(), views))
      return exitCodeFrom(result)
    }
    if (troupe.isRunning(row)) throw runBusyError(row.run_id)
    await requireSameModel(cli, troupe, row.run_id)
    const handle = await troupe.resume(row.run_id, { limits, force: cli.options.force === true })
    return followRun(cli, troupe, { handle, after: row.head })
  })
}

/** Early check with a helpful message; the lease is the actual mutual exclusion. */
function runBusyError(run_id: string): TroupeError {
  return new TroupeError('run_busy', `${run_id} is running in another process`, {
    hint: `follow it with: troupe watch ${run_id}; cancel it with: troupe cancel ${run_id}; if that process was killed in another container or on another machine, resume the run half a minute later`,
  })
}
