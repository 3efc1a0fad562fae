import { TroupeError } from '../../errors.ts'
import type { Troupe } from '../../index.ts'
import { pluralize } from '../../views/format-amount.ts'
import { wrapText } from '../../views/text-width.ts'
import type { Cli } from './cli.ts'
import { printJson } from './cli.ts'
import { EXIT } from './exit-code.ts'
import { toInertOutput } from './inert-output.ts'

export type PrunedRuns = Awaited<ReturnType<Troupe['prune']>>

/** Prints what was deleted. Returns the exit code. */
export function printDeletionReport(cli: Cli, report: PrunedRuns): number {
  const { run_ids, freed } = report
  if (cli.options.json) printJson(cli, report)
  else {
    const space =
      freed === null
        ? 'the file keeps its size, because a run is executing; the space is used again'
        : `${formatBytes(freed)} freed`
    for (const line of wrapText(`${pluralize(run_ids.length, 'run')} deleted, ${space}`, cli.terminal.out.width))
      cli.terminal.print(line)
  }
  return EXIT.done
}

/** Asks on a terminal; elsewhere `--yes` is required. */
export async function confirmDeletion(cli: Cli<{ yes?: boolean }>, question: string): Promise<boolean> {
  if (cli.options.yes) return true
  if (!cli.terminal.interactive) {
    throw new TroupeError('invalid_input', `${question} --yes is required when the input is not a terminal`, {
      hint: 'pass --yes',
    })
  }
  const { createInterface } = await import('node:readline/promises')
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await reader.question(`${toInertOutput(question)} [y/N] `)).trim())
  } finally {
    reader.close()
  }
}

export function formatBytes(bytes: number): string {
  const mb = bytes / 1024 / 1024
  return mb < 0.1 ? `${Math.ceil(bytes / 1024)} KB` : `${mb.toFixed(1)} MB`
}
