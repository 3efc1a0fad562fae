import { missingPriceEntry } from '../kernel/spend.ts'
import type { AccountKey, AccountRow, AccountSum } from '../run-model/accounts.ts'
import { groupAccounts, sumAccounts } from '../run-model/accounts.ts'

/** The costs of one or many runs, without the requests that a fork inherited and another run paid for. */
export interface CostReport {
  total: AccountSum
  /** Models of requests without a known price. */
  unpriced_models: string[]
  /** The number of inherited requests. */
  inherited: number
  /** Runs newest first, days in order; other groups by cost, then by tokens, descending. At most `limit`, and `more` that are left out. */
  groupsBy(key: AccountKey, limit?: number): { groups: AccountSum[]; more: number }
}

export function costReportFrom(accounts: readonly AccountRow[]): CostReport {
  const rows = accounts.filter(({ inherited }) => !inherited)
  const unpriced = rows.filter(({ status, usd }) => usd === null && status !== 'open')
  return {
    total: sumAccounts(rows, 'total'),
    unpriced_models: [...new Set(unpriced.map(({ model }) => model))],
    inherited: accounts.length - rows.length,
    groupsBy: (key, limit) => firstGroups(rows, key, limit),
  }
}

/** The entries to add to a price file for these models. */
export function missingPriceNotes(models: readonly string[]): string[] {
  return models.map((model) => `to "prices" of FILE: ${missingPriceEntry(model)}, or "same_as": "provider/model"`)
}

function firstGroups(rows: readonly AccountRow[], key: AccountKey, limit = Number.POSITIVE_INFINITY) {
  const all = [...groupAccounts(rows, key)]
  // There may be thousands of runs, whose order does not depend on their sums.
  const candidates = key === 'run' ? all.slice(0, limit) : all
  const sums = candidates.map(([group, members]) => sumAccounts(members, group))
  const groups = sortGroups(sums, key).slice(0, limit)
  return { groups, more: all.length - groups.length }
}

function sortGroups(groups: AccountSum[], key: AccountKey): AccountSum[] {
  if (key === 'run') return groups
  if (key === 'day') return groups.toSorted((a, b) => (a.group < b.group ? -1 : 1))
  const tokens = ({ usage }: AccountSum) => usage.input + usage.output
  return groups.toSorted((a, b) => b.known_usd - a.known_usd || tokens(b) - tokens(a))
}
