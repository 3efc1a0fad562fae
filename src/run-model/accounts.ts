import type { Event, EventOf, EventType, KnownEvent, SessionOpen } from '../kernel/event.ts'
import type { Usage } from '../kernel/model.ts'
import { addUsage, NO_USAGE } from '../kernel/model.ts'
import type { ReservedBudget } from '../kernel/model-event.ts'
import type { PriceBook } from '../kernel/spend.ts'
import { sumUsd, totalTokens } from '../kernel/spend.ts'

/*
 * Usage and cost accounting, computed from journals.
 * 1. Every attempt at a model request is one row. Rows keep the order of the ledger, so floating-point sums are equal.
 * 2. Costs are computed on reading, with the price valid on the day of the request. An unknown price is `null`, except
 *    that a request without usage costs 0.
 * 3. Lost requests count with their reservation, separately from usage. Requests in flight are not counted as usage.
 */

/** The types of events that accounts are computed from. */
export const ACCOUNT_EVENTS = [
  'run:start',
  'session:open',
  'model:begin',
  'model:end',
  'model:error',
  'model:lost',
] as const satisfies readonly EventType[]

type AccountBegin = EventOf<'model:begin'>
type AccountOutcome = EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

/** `open`: in flight, or interrupted by a crash and not recovered yet. */
export type ModelRequestStatus = 'ended' | 'failed' | 'lost' | 'open'

/** One attempt at a model request. */
export interface AccountRow {
  run_id: string
  /** The pattern of the run. */
  pattern: string
  session_id: string | null
  parent_session_id: string | null
  agent: string
  /** The resolved model, not the role that selected it. */
  model: string
  phase: 'turn' | 'summary'
  /** `2026-11-15`, UTC. */
  day: string
  /** Time at which the request was sent. */
  at: number
  key: string
  attempt: number
  status: ModelRequestStatus
  /** The provider reported no usage; `usage` holds the reservation. */
  estimated: boolean
  usage: Usage
  /** The budget reserved for the request; of a lost request, the part of it that the provider can have charged. */
  reserved: ReservedBudget
  /** `null` when the price is not known. */
  usd: number | null
  /** Copied by a fork: the cost belongs to the original run. */
  inherited: boolean
}

/** Totals of a group of rows. */
export interface AccountSum {
  /** The common value, such as the agent's name. */
  group: string
  /** Attempts that ended or failed. */
  calls: number
  usage: Usage
  /** `null` when any price is unknown. */
  usd: number | null
  /** Total of the rows with a known price. */
  known_usd: number
  /** Requests with an unknown price. */
  unpriced: number
  failed: number
  estimated: { calls: number; tokens: number }
  lost: { calls: number; tokens: number; usd: number | null }
  open: { calls: number; tokens: number }
}

export type AccountKey = 'run' | 'pattern' | 'session' | 'parent' | 'agent' | 'model' | 'phase' | 'day'

/** Stands in for the model or agent when the journal lacks the matching `model:begin` or `session:open`. */
const UNKNOWN_NAME = 'unknown'
const NO_RESERVATION: ReservedBudget = { calls: 1, tokens: 0, usd: 0 }

/** The model requests of one run, from its journal; concatenate the rows of several runs. */
export function accountsFrom(events: readonly Event[], prices: PriceBook): AccountRow[] {
  const ledger = newAccountLedger(prices)
  const rows = events.flatMap((event) => reduceAccounts(ledger, event) ?? [])
  for (const begin of ledger.open.values()) rows.push(toAccountRow(ledger, begin))
  return rows
}

/** The state of accounting while the events of a run come in. */
export interface AccountLedger {
  readonly prices: PriceBook
  readonly sessions: Map<string, SessionOpen>
  /** Requests in flight. */
  readonly open: Map<string, AccountBegin>
  pattern: string
  /** Events up to this `seq` were copied by a fork. */
  inherited: number
}

export function newAccountLedger(prices: PriceBook): AccountLedger {
  return { prices, sessions: new Map(), open: new Map(), pattern: UNKNOWN_NAME, inherited: 0 }
}

/** Adds an event; returns the row of the request that it settled, if it did. */
export function reduceAccounts(ledger: AccountLedger, given: Event): AccountRow | undefined {
  // Events of other types fall through.
  const event = given as KnownEvent
  switch (event.type) {
    case 'run:start':
      if (event.seq > 1) return undefined
      ledger.pattern = event.data.pattern
      ledger.inherited = event.data.forked_from?.inherited ?? 0
      return undefined
    case 'session:open':
      ledger.sessions.set(event.session_id ?? '', event.data)
      return undefined
    case 'model:begin':
      ledger.open.set(attemptKey(event), event)
      return undefined
    case 'model:end':
    case 'model:error':
    case 'model:lost': {
      const key = attemptKey(event)
      const row = toAccountRow(ledger, ledger.open.get(key), event)
      ledger.open.delete(key)
      return row
    }
    default:
      return undefined
  }
}

function attemptKey({ data }: AccountBegin | AccountOutcome): string {
  return `${data.attempt}\n${data.key}`
}

function toAccountRow(ledger: AccountLedger, begin: AccountBegin | undefined, settled?: AccountOutcome): AccountRow {
  // At least one of the two is defined.
  const event = (begin ?? settled) as AccountBegin | AccountOutcome
  const session = ledger.sessions.get(event.session_id ?? '')
  const used = settled && settled.type !== 'model:lost' ? settled.data : undefined
  const reserved = settled?.type === 'model:lost' ? settled.data.reserved : (begin?.data.reserved ?? NO_RESERVATION)
  const facts = {
    model: begin?.data.model ?? UNKNOWN_NAME,
    at: event.at,
    usage: used?.usage ?? NO_USAGE,
    reserved,
  }
  return {
    run_id: event.run_id,
    pattern: ledger.pattern,
    session_id: event.session_id ?? null,
    parent_session_id: session?.parent_session_id ?? null,
    agent: session?.agent.name ?? UNKNOWN_NAME,
    phase: begin?.data.phase ?? 'turn',
    day: new Date(event.at).toISOString().slice(0, 10),
    key: event.data.key,
    attempt: event.data.attempt,
    status: requestStatus(settled),
    estimated: used?.estimated === true,
    ...facts,
    usd: rowCost(ledger.prices, facts, used),
    inherited: event.seq <= ledger.inherited,
  }
}

function requestStatus(settled: AccountOutcome | undefined): ModelRequestStatus {
  if (!settled) return 'open'
  return settled.type === 'model:end' ? 'ended' : settled.type === 'model:error' ? 'failed' : 'lost'
}

type PricedUsage = Pick<AccountRow, 'model' | 'at' | 'usage' | 'reserved'>

/** An estimate keeps the amount that was booked for it. */
function rowCost(
  prices: PriceBook,
  facts: PricedUsage,
  used: { estimated?: true | undefined; usd: number | null } | undefined,
): number | null {
  if (used && !used.estimated) return usageCost(prices, facts)
  return used && used.usd !== null ? used.usd : reservedCost(prices, facts)
}

function usageCost(prices: PriceBook, { model, usage, at }: PricedUsage): number | null {
  return prices.cost(model, usage, at) ?? (totalTokens(usage) === 0 ? 0 : null)
}

/** Reserved cost; without a price at that time, all reserved tokens are priced as output, the upper bound. */
function reservedCost(prices: PriceBook, { model, reserved, at }: PricedUsage): number | null {
  const upperBound = prices.cost(model, { ...NO_USAGE, output: reserved.tokens }, at)
  return upperBound === undefined ? null : reserved.usd > 0 ? reserved.usd : upperBound
}

const GROUP_BY: Readonly<Record<AccountKey, (row: AccountRow) => string>> = {
  run: (row) => row.run_id,
  pattern: (row) => row.pattern,
  session: (row) => row.session_id ?? UNKNOWN_NAME,
  parent: (row) => row.parent_session_id ?? '',
  agent: (row) => row.agent,
  model: (row) => row.model,
  phase: (row) => row.phase,
  day: (row) => row.day,
}

/** Totals by group, in order of first appearance. */
export function sumAccountsBy(rows: readonly AccountRow[], key: AccountKey): AccountSum[] {
  return [...groupAccounts(rows, key)].map(([group, members]) => sumAccounts(members, group))
}

/** The rows of each group, in order of first appearance. */
export function groupAccounts(rows: readonly AccountRow[], key: AccountKey): Map<string, AccountRow[]> {
  const groups = new Map<string, AccountRow[]>()
  for (const row of rows) {
    const group = GROUP_BY[key](row)
    const known = groups.get(group)
    if (known) known.push(row)
    else groups.set(group, [row])
  }
  return groups
}

/** Totals of all rows. */
export function sumAccounts(rows: readonly AccountRow[], group = ''): AccountSum {
  const sum = newAccountSum(group)
  for (const row of rows) addAccount(sum, row)
  return sum
}

export function newAccountSum(group = ''): AccountSum {
  return {
    group,
    calls: 0,
    usage: NO_USAGE,
    usd: 0,
    known_usd: 0,
    unpriced: 0,
    failed: 0,
    estimated: { calls: 0, tokens: 0 },
    lost: { calls: 0, tokens: 0, usd: 0 },
    open: { calls: 0, tokens: 0 },
  }
}

/** Adds one row to the totals, in place. */
export function addAccount(sum: AccountSum, row: AccountRow): void {
  if (row.status === 'lost') addLost(sum, row)
  else if (row.status === 'open') addTokens(sum.open, row.reserved.tokens)
  else addUsed(sum, row)
}

function addUsed(sum: AccountSum, row: AccountRow): void {
  sum.calls += 1
  sum.usage = addUsage(sum.usage, row.usage)
  sum.known_usd = sumUsd(sum.known_usd, row.usd ?? 0)
  sum.usd = sum.usd === null || row.usd === null ? null : sumUsd(sum.usd, row.usd)
  if (row.usd === null) sum.unpriced += 1
  if (row.status === 'failed') sum.failed += 1
  if (row.estimated) addTokens(sum.estimated, totalTokens(row.usage))
}

function addLost({ lost }: AccountSum, { reserved, usd }: AccountRow): void {
  addTokens(lost, reserved.tokens)
  lost.usd = lost.usd === null || usd === null ? null : sumUsd(lost.usd, usd)
}

function addTokens(total: { calls: number; tokens: number }, tokens: number): void {
  total.calls += 1
  total.tokens += tokens
}
