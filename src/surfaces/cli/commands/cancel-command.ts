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

/** Cancels a run in whichever process it is running; the journal is kept. */
export function cancelCommand(cli: Cli<{ reason?: string }>, runId: string): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run_id } = await findRun(cli, troupe, runId)
    const result = await waitForEnd(troupe, await troupe.cancel(run_id, cli.options.reason ?? ''))
    if (cli.options.json) printJson(cli, resultRecord(result))
    else {
      const pending =
        result.status === 'cancelled' ? '' : '\ncancellation requested; the process has not ended the run yet'
      cli.terminal.print(summaryLine(result, cli.terminal.out) + pending)
    }
    return EXIT.done
  })
}

/** Waits until the process that runs it has noticed the request. */
async function waitForEnd(troupe: Troupe, first: RunResult): Promise<RunResult> {
  let result = first
  for (let waited = 0; result.status === 'running' && waited < TIMEOUT_MS; waited += POLL_MS) {
    await pause(POLL_MS)
    result = await troupe.result(result.run_id)
  }
  return result
}
