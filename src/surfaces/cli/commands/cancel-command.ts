import { setTimeout as pause } from 'node:timers/promises'
import type { RunResult, Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { resultRecord } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { summaryLine } from '../render/result-lines.ts'

const POLL_MS = 100
const TIMEOUT_MS = 10_000

/** Ends a run, wherever it is worked on; what it has done is kept. */
export function cancelCommand(cli: Cli<{ reason?: string }>, wanted: string): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run_id } = await findRun(cli, troupe, wanted)
    const result = await waitForEnd(troupe, await troupe.cancel(run_id, cli.options.reason ?? ''))
    if (cli.options.json) printJson(cli, resultRecord(result))
    else {
      const still = result.status === 'cancelled' ? '' : '\nits process has been told and has not ended it yet'
      cli.terminal.print(summaryLine(result, cli.terminal.out) + still)
    }
    return EXIT.done
  })
}

/** The process that works on it notices the request within a moment. */
async function waitForEnd(troupe: Troupe, first: RunResult): Promise<RunResult> {
  let result = first
  for (let waited = 0; result.status === 'running' && waited < TIMEOUT_MS; waited += POLL_MS) {
    await pause(POLL_MS)
    result = await troupe.result(result.run_id)
  }
  return result
}
