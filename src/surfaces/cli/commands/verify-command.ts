import type { VerifyReport } from '../../../entries/inspect.ts'
import { pluralize } from '../../../views/format-amount.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { noteForeignStore, openTroupe } from '../open-troupe.ts'
import { doctorCheckLines } from '../render/doctor-checks.ts'

type VerifyFinding = VerifyReport['findings'][number]

/** Checks the store, or one run, for damage. */
export async function verifyCommand(cli: Cli<{ acceptLoss?: true }>, run: string | undefined): Promise<number> {
  if (cli.options.acceptLoss) await acceptLoss(cli)
  const troupe = await openTroupe(cli, 'existing')
  try {
    const report = await troupe.verify(run === undefined ? undefined : (await findRun(cli, troupe, run)).run_id)
    const { location, runs, events, findings } = report
    const isSound = findings.length === 0
    if (cli.options.json) printJson(cli, report)
    else {
      for (const line of doctorCheckLines(findings.map(toCheck), cli.terminal.out)) cli.terminal.print(line)
      const checked = `${location}: ${pluralize(runs, 'run')} with ${pluralize(events, 'event')} checked`
      cli.terminal.note(`${checked}, ${isSound ? 'no damage' : pluralize(findings.length, 'finding')}`)
    }
    noteForeignStore(cli, troupe)
    return isSound ? EXIT.done : EXIT.failed
  } finally {
    await troupe.close()
  }
}

/** Only a process that opens the store afterwards can write it. */
async function acceptLoss(cli: Cli): Promise<void> {
  const troupe = await openTroupe(cli, 'existing')
  await troupe.acceptLoss().finally(() => troupe.close())
}

function toCheck({ rule, message, hint }: VerifyFinding) {
  return { name: rule, status: 'error' as const, message, hint }
}
