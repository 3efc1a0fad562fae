import type { Event, EventOf, ReservedBudget, SessionOpen } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Usage } from '../kernel/model.ts'
import { addUsage, NO_USAGE } from '../kernel/model.ts'
import type { PriceBook } from '../kernel/price.ts'
import { totalTokens } from '../kernel/spend.ts'

/*
 * Who used what, read from journals.
 * 1. Every attempt at a model call is one row; rows stand in the order in which the ledger counted them, so that their
 *    sums are the ledger's to the last digit.
 * 2. Costs are computed now, with the price of the day on which the call was made. A price that nobody knows is `null`;
 *    only a call that used nothing costs nothing without a price.
 * 3. What was lost counts at its reservation and stands apart from what was used. A call in flight counts nowhere yet.
 */

/** How an attempt ended; `open` is in flight, or was cut off by a crash that nobody has looked at yet. */
export type ModelRequestStatus = 'ended' | 'failed' | 'lost' | 'open'

/** One attempt at a model call. */
export interface AccountRow {
  run_id: string
  session_id: string | null
  parent_session_id: string | null
  agent: string
  /** The model that was asked, not the role that chose it. */
  model: string
  phase: 'turn' | 'summary'
  /** `2026-11-15`, UTC. */
  day: string
  /** When the call was made. */
  at: number
  key: string
  attempt: number
  status: ModelRequestStatus
  /** Its usage never arrived: what stands here is what was set aside. */
  estimated: boolean
  usage: Usage
  /** What was set aside for it: where it is lost, this is what counts. */
  reserved: ReservedBudget
  /** `null` when the price is not known. */
  usd: number | null
  /** A fork brought it along: the run it was forked from has paid for it. */
  inherited: boolean
}

/** What some calls come to. */
export interface AccountSum {
  /** What they have in common, such as the agent's name. */
  group: string
  /** Attempts that ended or failed. */
  calls: number
  usage: Usage
  /** `null` as soon as one price is not known; `known_usd` is what the others come to. */
  usd: number | null
  known_usd: number
  /** Calls whose price is not known. */
  unpriced: number
  failed: number
  estimated: { calls: number; tokens: number }
  lost: { calls: number; tokens: number; usd: number | null }
  open: { calls: number; tokens: number }
}

export type AccountKey = 'run' | 'session' | 'parent' | 'agent' | 'model' | 'phase' | 'day'

/** The model of a call that ended and never began: such a journal is broken, and the call is counted all the same. */
const UNKNOWN_NAME = 'unknown'
const NO_RESERVATION: ReservedBudget = { calls: 1, tokens: 0, usd: 0 }

type BeginEvent = EventOf<'model:begin'>
type SettledEvent = EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

/** The model calls of one run, from its journal; for several runs, join what this gives. */
export function accountsFrom(events: readonly Event[], prices: PriceBook): AccountRow[] {
  const rows: AccountRow[] = []
  const open = new Map<string, BeginEvent>()
  const sessions = new Map<string, SessionOpen>()
  const [first] = events
  const site: AccountContext = { sessions, prices, inherited: inheritedCount(first) }
  for (const event of events) {
    if (isEvent(event, 'session:open')) sessions.set(event.session_id ?? '', event.data)
    else if (isEvent(event, 'model:begin')) open.set(attemptKey(event), event)
    else if (isSettled(event)) {
      rows.push(toAccountRow(site, open.get(attemptKey(event)), event))
      open.delete(attemptKey(event))
    }
  }
  for (const begin of open.values()) rows.push(toAccountRow(site, begin))
  return rows
}

interface AccountContext {
  sessions: ReadonlyMap<string, SessionOpen>
  prices: PriceBook
  /** Events up to this seq came with a fork. */
  inherited: number
}

function inheritedCount(first: Event | undefined): number {
  return isEvent(first, 'run:start') ? (first.data.forked_from?.inherited ?? 0) : 0
}

function attemptKey({ data }: BeginEvent | SettledEvent): string {
  return `${data.attempt}\n${data.key}`
}

function isSettled(event: Event): event is SettledEvent {
  return isEvent(event, 'model:end') || isEvent(event, 'model:error') || isEvent(event, 'model:lost')
}

function toAccountRow(site: AccountContext, begin: BeginEvent | undefined, settled?: SettledEvent): AccountRow {
  // One of the two is there: a row is made for what began, or for what ended.
  const event = (begin ?? settled) as BeginEvent | SettledEvent
  const session = site.sessions.get(event.session_id ?? '')
  const used = settled && settled.type !== 'model:lost' ? settled.data : undefined
  const reserved = begin?.data.reserved ?? (settled?.type === 'model:lost' ? settled.data.reserved : NO_RESERVATION)
  const facts = {
    model: begin?.data.model ?? UNKNOWN_NAME,
    at: event.at,
    usage: used?.usage ?? NO_USAGE,
    reserved,
  }
  return {
    run_id: event.run_id,
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
    usd: used && !used.estimated ? usageCost(site.prices, facts) : reservedCost(site.prices, facts),
    inherited: event.seq <= site.inherited,
  }
}

function requestStatus(settled: SettledEvent | undefined): ModelRequestStatus {
  if (!settled) return 'open'
  return settled.type === 'model:end' ? 'ended' : settled.type === 'model:error' ? 'failed' : 'lost'
}

type PricedUsage = Pick<AccountRow, 'model' | 'at' | 'usage' | 'reserved'>

function usageCost(prices: PriceBook, { model, usage, at }: PricedUsage): number | null {
  return prices.cost(model, usage, at) ?? (totalTokens(usage) === 0 ? 0 : null)
}

/** What was set aside in money; where no price was known then, every token counts as output, the dearer half. */
function reservedCost(prices: PriceBook, { model, reserved, at }: PricedUsage): number | null {
  const most = prices.cost(model, { ...NO_USAGE, output: reserved.tokens }, at)
  return most === undefined ? null : reserved.usd > 0 ? reserved.usd : most
}

const GROUP_BY: Readonly<Record<AccountKey, (row: AccountRow) => string>> = {
  run: (row) => row.run_id,
  session: (row) => row.session_id ?? UNKNOWN_NAME,
  parent: (row) => row.parent_session_id ?? '',
  agent: (row) => row.agent,
  model: (row) => row.model,
  phase: (row) => row.phase,
  day: (row) => row.day,
}

/** Sums by what rows have in common, in the order in which each first appears. */
export function sumAccountsBy(rows: readonly AccountRow[], key: AccountKey): AccountSum[] {
  const groups = new Map<string, AccountRow[]>()
  for (const row of rows) {
    const group = GROUP_BY[key](row)
    const known = groups.get(group)
    if (known) known.push(row)
    else groups.set(group, [row])
  }
  return [...groups].map(([group, members]) => sumAccounts(members, group))
}

/** What all these rows come to. */
export function sumAccounts(rows: readonly AccountRow[], group = ''): AccountSum {
  const sum: AccountSum = {
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
  for (const row of rows) {
    if (row.status === 'lost') addLost(sum, row)
    else if (row.status === 'open') addTokens(sum.open, row.reserved.tokens)
    else addUsed(sum, row)
  }
  return sum
}

function addUsed(sum: AccountSum, row: AccountRow): void {
  sum.calls += 1
  sum.usage = addUsage(sum.usage, row.usage)
  sum.known_usd += row.usd ?? 0
  sum.usd = sum.usd === null || row.usd === null ? null : sum.usd + row.usd
  if (row.usd === null) sum.unpriced += 1
  if (row.status === 'failed') sum.failed += 1
  if (row.estimated) addTokens(sum.estimated, totalTokens(row.usage))
}

function addLost({ lost }: AccountSum, { reserved, usd }: AccountRow): void {
  addTokens(lost, reserved.tokens)
  lost.usd = lost.usd === null || usd === null ? null : lost.usd + usd
}

function addTokens(into: { calls: number; tokens: number }, tokens: number): void {
  into.calls += 1
  into.tokens += tokens
}
