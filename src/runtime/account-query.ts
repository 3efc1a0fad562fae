import { setImmediate as nextTick } from 'node:timers/promises'
import type { PriceBook } from '../kernel/price.ts'
import type { Store } from '../store/store.ts'
import type { AccountRow } from '../views/accounts.ts'
import { accountsFrom } from '../views/accounts.ts'
import { requireRun } from './run-lookup.ts'

/** Which model requests to read, and the prices to compute their cost with. */
export interface AccountQuery {
  prices: PriceBook
  /** Only requests of this run. */
  run_id?: string
  /** Only requests sent at this time or later. */
  since?: number
}

const RUNS_PER_PAGE = 500

/** Reads page by page, so that the thread is not blocked for long. */
export async function* readAccounts(
  { store, project }: { store: Store; project: string },
  { prices, run_id, since = 0 }: AccountQuery,
): AsyncGenerator<AccountRow> {
  if (run_id !== undefined) await requireRun(store, project, run_id)
  for (let before: string | undefined; ; ) {
    const events = await store.accountEvents({ project, run_id, before, since, limit: RUNS_PER_PAGE })
    const runs = Map.groupBy(events, (event) => event.run_id)
    for (const [id, ofRun] of runs) {
      for (const row of accountsFrom(ofRun, prices)) if (row.at >= since) yield row
      before = id
    }
    if (run_id !== undefined || runs.size === 0) return
    await nextTick()
  }
}
