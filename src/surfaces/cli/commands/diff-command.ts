import { loadPatternViews } from '../../../views/pattern-views.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { diffLines } from '../render/diff-lines.ts'

/** Compares two runs: where they diverge, and the consequences. */
export function diffCommand(cli: Cli, first: string, second: string): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { compareRuns } = await import('../../../entries/inspect.ts')
    const [a, b] = [await findRun(cli, troupe, first), await findRun(cli, troupe, second)]
    const comparison = compareRuns(await troupe.events(a.run_id).all(), await troupe.events(b.run_id).all())
    if (cli.options.json) printJson(cli, comparison)
    else {
      const views = await loadPatternViews(await troupe.patterns())
      for (const line of diffLines(comparison, cli.terminal.out, views)) cli.terminal.print(line)
    }
    return EXIT.done
  })
}
