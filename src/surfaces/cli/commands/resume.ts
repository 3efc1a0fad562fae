import { TroupeError } from '../../../errors.ts'
import { attend, conclude } from '../attend.ts'
import type { Cli } from '../cli.ts'
import { exitOf } from '../exit.ts'
import { findRun } from '../find.ts'
import { limitsFrom } from '../limits.ts'
import { withTroupe } from '../open.ts'
import { sameModel } from '../same-model.ts'

/** Goes on with a run that was interrupted, broke off, waits, or failed. */
export async function resume(cli: Cli<{ force?: boolean }>, wanted: string): Promise<number> {
  const limits = await limitsFrom(cli)
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    if (row.status === 'completed' || row.status === 'cancelled') {
      if (!cli.options.json) cli.terminal.note(`${row.run_id} has ended already`)
      const result = await troupe.result(row.run_id)
      conclude(cli, result)
      return exitOf(result)
    }
    if (troupe.isUnderWay(row)) throw busy(row.run_id)
    await sameModel(cli, troupe, row.run_id)
    const handle = await troupe.resume(row.run_id, { limits, force: cli.options.force === true })
    return attend(cli, troupe, handle, { after: row.head })
  })
}

/** Said before anything is touched; the lease says the same to whoever comes in between. */
function busy(run_id: string): TroupeError {
  return new TroupeError('run_busy', `another process works on ${run_id}`, {
    hint: `follow it with: troupe watch ${run_id}; end it with: troupe cancel ${run_id}`,
  })
}
