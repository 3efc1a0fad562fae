import type { AccountKey, AccountRow, AccountSum } from '../../../entries/inspect.ts'
import type { CostReport } from '../../../views/cost-report.ts'
import { costReportFrom } from '../../../views/cost-report.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { parseDay } from '../parse-day.ts'
import { costNotes, costTable } from '../render/cost-table.ts'

interface CostOptions {
  by?: AccountKey
  all?: boolean
  since?: string
  prices?: string[]
}

/** The tables of all runs, unless `--by` names one. */
const OVERVIEW: readonly AccountKey[] = ['pattern', 'model', 'agent', 'run']
const MAX_GROUPS = 20

/** Usage and cost of one run, or of all runs of the project, with the prices of the day of each request. */
export function costCommand(cli: Cli<CostOptions>, runId: string | undefined): Promise<number> {
  const { by, since, prices: files = [] } = cli.options
  const groupKey = by ?? (runId === undefined ? 'run' : 'agent')
  const fromTime = since === undefined ? 0 : parseDay(since)
  return withTroupe(cli, 'existing', async (troupe) => {
    const { loadPrices } = await import('../../../entries/models.ts')
    const prices = await loadPrices(files)
    const scope = runId === undefined ? undefined : { run_id: (await findRun(cli, troupe, runId)).run_id }
    const rows: AccountRow[] = []
    for await (const row of troupe.accounts({ prices, since: fromTime, ...scope })) rows.push(row)
    const { groupsBy, ...facts } = costReportFrom(rows)
    const limit = cli.options.all ? undefined : MAX_GROUPS
    if (cli.options.json) printJson(cli, { by: groupKey, since: since ?? null, ...groupsBy(groupKey, limit), ...facts })
    else {
      const keys = by === undefined && runId === undefined ? OVERVIEW : [groupKey]
      printCosts(cli, new Map(keys.map((key) => [key, groupsBy(key, limit)])), facts)
    }
    return EXIT.done
  })
}

function printCosts(
  { terminal, options }: Cli<CostOptions>,
  tables: ReadonlyMap<AccountKey, { groups: AccountSum[]; more: number }>,
  facts: Omit<CostReport, 'groupsBy'>,
): void {
  if (facts.total.calls + facts.total.lost.calls + facts.total.open.calls === 0)
    terminal.note(`no model requests${options.since === undefined ? '' : ` since ${options.since}`}`)
  else {
    const [last] = [...tables.keys()].slice(-1)
    for (const [key, { groups, more }] of tables) {
      const rows = key === last && groups.length > 1 ? [...groups, facts.total] : groups
      for (const line of costTable(rows, { groupKey: key, hasTotal: rows.length > groups.length }, terminal.out))
        terminal.print(line)
      if (more > 0) terminal.print(`… and ${more} more (--all)`)
      if (key !== last) terminal.print('')
    }
  }
  for (const note of costNotes(facts, terminal.err)) terminal.note(note)
}
