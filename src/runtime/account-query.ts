import { setImmediate as nextTick } from 'node:timers/promises'
import type { PriceBook } from '../kernel/spend.ts'
import type { AccountRow } from '../run-model/accounts.ts'
import { ACCOUNT_EVENTS, accountsFrom } from '../run-model/accounts.ts'
import type { Store } from '../store/store.ts'
import { requireRun, runPages } from './run-lookup.ts'

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
  const accountsOf = async (run_ids: readonly string[]) => {
    const events = await store.eventsOfRuns(run_ids, ACCOUNT_EVENTS)
    const byRun = Map.groupBy(events, (event) => event.run_id)
    return [...byRun.values()].flatMap((ofRun) => accountsFrom(ofRun, prices)).filter(({ at }) => at >= since)
  }
  if (run_id !== undefined) {
    await requireRun(store, project, run_id)
    yield* await accountsOf([run_id])
    return
  }
  for await (const page of runPages(store, project, RUNS_PER_PAGE)) {
    const ids = page.filter(({ ended_at }) => (ended_at ?? since) >= since).map((run) => run.run_id)
    yield* await accountsOf(ids)
    await nextTick()
  }
}
