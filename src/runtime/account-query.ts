import type { Event } from '../kernel/event.ts'
import type { PriceBook } from '../kernel/price.ts'
import type { RunRow, Store } from '../store/store.ts'
import type { AccountRow } from '../views/accounts.ts'
import { ACCOUNT_EVENTS, accountsFrom } from '../views/accounts.ts'
import { requireRun } from './run-lookup.ts'

/** Which model requests to read, and the prices to compute their cost with. */
export interface AccountQuery {
  prices: PriceBook
  /** Only requests of this run. */
  run_id?: string
  /** Only requests sent at this time or later. */
  since?: number
}

const RUNS_PER_PAGE = 200

/** Reads page by page, and only the events that accounts need: the time per run does not depend on the number of runs. */
export async function* readAccounts(
  { store, project }: { store: Store; project: string },
  { prices, run_id, since = 0 }: AccountQuery,
): AsyncGenerator<AccountRow> {
  const only = run_id === undefined ? undefined : [await requireRun(store, project, run_id)]
  for (let before: string | undefined; ; ) {
    const filter = { project, limit: RUNS_PER_PAGE, ...(before === undefined ? undefined : { before }) }
    const runs = only ?? (await store.runs(filter))
    const run_ids = runs.filter((run) => !endedBefore(run, since)).map((run) => run.run_id)
    for (const events of groupByRun(await store.eventsOfRuns(run_ids, ACCOUNT_EVENTS)))
      for (const row of accountsFrom(events, prices)) if (row.at >= since) yield row
    before = runs.at(-1)?.run_id
    if (only || runs.length < RUNS_PER_PAGE) return
  }
}

function endedBefore({ ended_at }: RunRow, time: number): boolean {
  return ended_at !== null && ended_at < time
}

function groupByRun(events: readonly Event[]): Iterable<Event[]> {
  return Map.groupBy(events, ({ run_id }) => run_id).values()
}
