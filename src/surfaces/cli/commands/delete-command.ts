import { pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { confirmDeletion, printDeletionReport } from '../deletion-report.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'

/** Deletes runs, after asking. */
export function deleteCommand(cli: Cli<{ yes?: boolean }>, ...prefixes: string[]): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const runs = []
    for (const prefix of prefixes) runs.push(await findRun(cli, troupe, prefix))
    for (const { run_id, status, title } of runs) cli.terminal.note(`${run_id}  ${status}  ${toTerminalLine(title)}`)
    if (!(await confirmDeletion(cli, `Delete ${pluralize(runs.length, 'run')}? This cannot be undone.`)))
      return EXIT.failed
    return printDeletionReport(cli, await troupe.deleteRuns(runs.map(({ run_id }) => run_id)))
  })
}
