import type { RunResult, Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { resultRecord } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { summaryLine } from '../render/result-lines.ts'

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

/** Waits until the process that runs it has ended it. */
async function waitForEnd(troupe: Troupe, result: RunResult): Promise<RunResult> {
  const { run_id, status } = result
  if (status !== 'running') return result
  const { head: after } = await troupe.getRun(run_id)
  for await (const { type } of troupe.watch(run_id, { after, signal: AbortSignal.timeout(TIMEOUT_MS) }))
    if (type === 'run:end') break
  return troupe.result(run_id)
}
