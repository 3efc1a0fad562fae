import { TroupeError } from '../../../errors.ts'
import type { Cli } from '../cli.ts'
import { exitCodeFrom } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { followRun, printResult } from '../follow-run.ts'
import { limitsFrom } from '../limit-option.ts'
import { withTroupe } from '../open-troupe.ts'
import { requireSameModel } from '../require-same-model.ts'

/** Goes on with a run that was interrupted, broke off, waits, or failed. */
export async function resumeCommand(cli: Cli<{ force?: boolean }>, wanted: string): Promise<number> {
  const limits = await limitsFrom(cli)
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    if (row.status === 'completed' || row.status === 'cancelled') {
      if (!cli.options.json) cli.terminal.note(`${row.run_id} has ended already`)
      const result = await troupe.result(row.run_id)
      printResult(cli, result)
      return exitCodeFrom(result)
    }
    if (troupe.isRunning(row)) throw runBusyError(row.run_id)
    await requireSameModel(cli, troupe, row.run_id)
    const handle = await troupe.resume(row.run_id, { limits, force: cli.options.force === true })
    return followRun(cli, troupe, handle, { after: row.head })
  })
}

/** Said before anything is touched; the lease says the same to whoever comes in between. */
function runBusyError(run_id: string): TroupeError {
  return new TroupeError('run_busy', `another process works on ${run_id}`, {
    hint: `follow it with: troupe watch ${run_id}; end it with: troupe cancel ${run_id}`,
  })
}
