import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { replayLines } from '../render/replay-lines.ts'

/** Replays a stored run offline and reports differences. */
export function replayCommand(cli: Cli, runId: string): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, runId)
    const report = await troupe.replay(row.run_id)
    if (cli.options.json) printJson(cli, report)
    else for (const line of replayLines(report, cli.terminal.out)) cli.terminal.print(line)
    return report.same ? EXIT.done : EXIT.failed
  })
}
