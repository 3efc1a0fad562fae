import { setTimeout as pause } from 'node:timers/promises'
import type { RunResult, Troupe } from '../../../index.ts'
import { resultRecord } from '../attend.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { findRun } from '../find.ts'
import { withTroupe } from '../open.ts'
import { summaryLine } from '../render/result.ts'

const LOOK_MS = 100
const PATIENCE_MS = 10_000

/** Ends a run, wherever it is worked on; what it has done is kept. */
export function cancel(cli: Cli<{ reason?: string }>, wanted: string): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run_id } = await findRun(cli, troupe, wanted)
    const result = await ended(troupe, await troupe.cancel(run_id, cli.options.reason ?? ''))
    if (cli.options.json) printJson(cli, resultRecord(result))
    else {
      const still = result.status === 'cancelled' ? '' : '\nits process has been told and has not ended it yet'
      cli.terminal.print(summaryLine(result, cli.terminal.out) + still)
    }
    return EXIT.done
  })
}

/** The process that works on it notices the request within a moment. */
async function ended(troupe: Troupe, first: RunResult): Promise<RunResult> {
  let result = first
  for (let waited = 0; result.status === 'running' && waited < PATIENCE_MS; waited += LOOK_MS) {
    await pause(LOOK_MS)
    result = await troupe.result(result.run_id)
  }
  return result
}
