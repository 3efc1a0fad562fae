import { TroupeError } from '../../../errors.ts'
import type { Troupe } from '../../../index.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import type { PrunedRuns } from '../deletion-report.ts'
import { confirmDeletion, formatBytes, printDeletionReport } from '../deletion-report.ts'
import { EXIT } from '../exit-code.ts'
import { withTroupe } from '../open-troupe.ts'

type PruneOptions = { yes?: boolean; olderThan?: string; keepFailed?: boolean; dryRun?: boolean }

/** Deletes runs that ended long ago, after showing what that frees and asking. */
export function pruneCommand(cli: Cli<PruneOptions>): Promise<number> {
  const { olderThan = '', keepFailed: keep_failed = false, dryRun = false } = cli.options
  const options = { max_age_days: parseDays(olderThan), keep_failed }
  return withTroupe(cli, 'existing', async (troupe) => {
    const planned = await troupe.prune({ ...options, dry_run: true })
    if (dryRun) return printPlan(cli, planned)
    if (planned.run_ids.length > 0) {
      if (!cli.options.json) await describePlan(cli, troupe, planned)
      const question = `Delete ${pluralize(planned.run_ids.length, 'run')} (about ${formatBytes(planned.bytes)})? This cannot be undone.`
      if (!(await confirmDeletion(cli, question))) return EXIT.failed
    }
    return printDeletionReport(cli, await troupe.prune(options))
  })
}

async function describePlan(cli: Cli, troupe: Troupe, { run_ids, kept }: PrunedRuns): Promise<void> {
  const shown = run_ids.slice(0, RUNS_LISTED)
  for (const run_id of shown) {
    const { status, title } = await troupe.getRun(run_id)
    cli.terminal.note(`${run_id}  ${status}  ${toTerminalLine(title)}`)
  }
  if (run_ids.length > shown.length) cli.terminal.note(`… and ${run_ids.length - shown.length} more`)
  if (kept.length > 0) cli.terminal.note(keptLine(kept))
}

const RUNS_LISTED = 10

function printPlan(cli: Cli, report: PrunedRuns): number {
  const { run_ids, kept, bytes } = report
  if (cli.options.json) printJson(cli, { ...report, dry_run: true })
  else {
    const lines = [
      `${pluralize(run_ids.length, 'run')} would be deleted, about ${formatBytes(bytes)}`,
      ...run_ids,
      ...(kept.length > 0 ? [keptLine(kept)] : []),
    ]
    for (const line of lines.flatMap((text) => wrapText(text, cli.terminal.out.width))) cli.terminal.print(line)
  }
  return EXIT.done
}

function keptLine(kept: readonly string[]): string {
  return `kept: ${kept.join(', ')}, because newer runs share a session with them or were forked from them`
}

const DAYS_BY_UNIT: Readonly<Record<string, number>> = { h: 1 / 24, d: 1, w: 7 }

function parseDays(age: string): number {
  const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?)([hdw])$/.exec(age) ?? []
  const days = DAYS_BY_UNIT[unit]
  if (days !== undefined) return Number(count) * days
  throw new TroupeError('invalid_input', `--older-than ${age} is not an age`, {
    hint: 'write a number and a unit, such as --older-than 30d, 12h or 2w',
  })
}
