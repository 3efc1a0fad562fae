import { TroupeError } from '../../../errors.ts'
import type { AccountKey, AccountRow, AccountSum, RunRow, Troupe } from '../../../index.ts'
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

const MAX_RUNS = 1_000_000

/** What runs used and cost: all of the project, or one. Prices are those of the day of each call. */
export function costCommand(cli: Cli<CostOptions>, wanted: string | undefined): Promise<number> {
  const { by = wanted === undefined ? 'run' : 'agent', since, prices: files = [] } = cli.options
  const from = since === undefined ? 0 : parseDay(since)
  return withTroupe(cli, 'existing', async (troupe) => {
    const { accountsFrom, loadPrices, sumAccountsBy, sumAccounts } = await import('../../../index.ts')
    const prices = await loadPrices(files)
    const runs = wanted === undefined ? await troupe.runs({ limit: MAX_RUNS }) : [await findRun(cli, troupe, wanted)]
    const all: AccountRow[] = []
    for (const run of runs) {
      if (endedBefore(run, from)) continue
      for (const row of accountsFrom(await readRunEvents(troupe, run), prices)) if (row.at >= from) all.push(row)
    }
    const rows = all.filter(({ inherited }) => !inherited)
    const total = sumAccounts(rows, 'total')
    const unpriced_models = [...new Set(rows.filter(isUnpriced).map(({ model }) => model))]
    const facts = { total, unpriced_models, inherited: all.length - rows.length }
    const groups = sortGroups(sumAccountsBy(rows, by), by)
    if (cli.options.json) printJson(cli, { by, since: since ?? null, groups, ...facts })
    else printCosts(cli, by, { groups, ...facts })
    return EXIT.done
  })
}

interface Costs {
  groups: AccountSum[]
  total: AccountSum
  unpriced_models: string[]
  inherited: number
}

function printCosts({ terminal, options }: Cli<CostOptions>, by: AccountKey, costs: Costs): void {
  const { groups, total } = costs
  if (groups.length === 0) {
    terminal.note(`no model was asked${options.since === undefined ? '' : ` since ${options.since}`}`)
  } else {
    const rows = groups.length > 1 ? [...groups, total] : groups
    for (const line of costTable(rows, by, terminal.out)) terminal.print(line)
  }
  for (const note of costNotes(costs, terminal.err)) terminal.note(note)
}

/** Days in their order and runs as they are listed; of the rest the dearest first, then those that used most. */
function sortGroups(groups: AccountSum[], by: AccountKey): AccountSum[] {
  if (by === 'run') return groups
  if (by === 'day') return groups.toSorted((a, b) => (a.group < b.group ? -1 : 1))
  const size = ({ usage }: AccountSum) => usage.input + usage.output
  return groups.toSorted((a, b) => b.known_usd - a.known_usd || size(b) - size(a))
}

function isUnpriced({ status, usd }: AccountRow): boolean {
  return usd === null && status !== 'open'
}

function endedBefore({ ended_at }: RunRow, from: number): boolean {
  return ended_at !== null && ended_at < from
}

/** From the store: a run that is listed need not be looked up again. */
function readRunEvents({ store }: Troupe, { run_id }: RunRow) {
  return store.events(run_id)
}

function parseDay(since: string): number {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(since) ? Date.parse(`${since}T00:00:00Z`) : Number.NaN
  if (!Number.isNaN(day) && new Date(day).toISOString().startsWith(since)) return day
  throw new TroupeError('invalid_input', `'${since}' is no day`, { hint: 'write it like --since 2026-11-15 (UTC)' })
}
