import { TroupeError } from '../../../errors.ts'
import type { AccountKey, AccountRow, AccountSum, RunRow } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { costNotes, costTable } from '../render/cost-table.ts'

interface CostOptions {
  by?: AccountKey
  since?: string
  prices?: string[]
}

/** Usage and cost of one run, or of all runs of the project, with the prices of the day of each request. */
export function costCommand(cli: Cli<CostOptions>, runId: string | undefined): Promise<number> {
  const { by: groupKey = runId === undefined ? 'run' : 'agent', since, prices: files = [] } = cli.options
  const fromTime = since === undefined ? 0 : parseDay(since)
  return withTroupe(cli, 'existing', async (troupe) => {
    const { accountsFrom, loadPrices, sumAccountsBy, sumAccounts } = await import('../../../index.ts')
    const prices = await loadPrices(files)
    const runs = runId === undefined ? troupe.runs() : [await findRun(cli, troupe, runId)]
    const all: AccountRow[] = []
    for await (const run of runs) {
      if (endedBefore(run, fromTime)) continue
      for (const row of accountsFrom(await troupe.events(run.run_id).all(), prices))
        if (row.at >= fromTime) all.push(row)
    }
    const rows = all.filter(({ inherited }) => !inherited)
    const total = sumAccounts(rows, 'total')
    const unpriced_models = [...new Set(rows.filter(isUnpriced).map(({ model }) => model))]
    const facts = { total, unpriced_models, inherited: all.length - rows.length }
    const groups = sortGroups(sumAccountsBy(rows, groupKey), groupKey)
    if (cli.options.json) printJson(cli, { by: groupKey, since: since ?? null, groups, ...facts })
    else printCosts(cli, groupKey, { groups, ...facts })
    return EXIT.done
  })
}

interface Costs {
  groups: AccountSum[]
  total: AccountSum
  unpriced_models: string[]
  inherited: number
}

function printCosts({ terminal, options }: Cli<CostOptions>, groupKey: AccountKey, costs: Costs): void {
  const { groups, total } = costs
  if (groups.length === 0) {
    terminal.note(`no model requests${options.since === undefined ? '' : ` since ${options.since}`}`)
  } else {
    const rows = groups.length > 1 ? [...groups, total] : groups
    for (const line of costTable(rows, groupKey, terminal.out)) terminal.print(line)
  }
  for (const note of costNotes(costs, terminal.err)) terminal.note(note)
}

/** Runs newest first, days in order; other groups by cost, then by tokens, descending. */
function sortGroups(groups: AccountSum[], groupKey: AccountKey): AccountSum[] {
  if (groupKey === 'run') return groups
  if (groupKey === 'day') return groups.toSorted((a, b) => (a.group < b.group ? -1 : 1))
  const tokens = ({ usage }: AccountSum) => usage.input + usage.output
  return groups.toSorted((a, b) => b.known_usd - a.known_usd || tokens(b) - tokens(a))
}

function isUnpriced({ status, usd }: AccountRow): boolean {
  return usd === null && status !== 'open'
}

function endedBefore({ ended_at }: RunRow, time: number): boolean {
  return ended_at !== null && ended_at < time
}

function parseDay(since: string): number {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(since) ? Date.parse(`${since}T00:00:00Z`) : Number.NaN
  if (!Number.isNaN(day) && new Date(day).toISOString().startsWith(since)) return day
  throw new TroupeError('invalid_input', `--since ${since}: not a valid date`, {
    hint: 'write a UTC date: --since 2026-11-15',
  })
}
