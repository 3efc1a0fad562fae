import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { ReservedBudget } from '../kernel/model-event.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND, sumUsd, totalTokens } from '../kernel/spend.ts'
import type { CheckScope, JournalCheck } from './finding.ts'

/** Tolerance for floating-point sums of prices. */
const ROUNDING = 1e-9

/**
 * Spent, lost and reserved together stay within the limits, and every model request belongs to a session. Usage that a performer
 * reports afterwards has no reservation and may exceed a limit, once.
 */
export function checkBudget(): JournalCheck {
  let limits: Limits | undefined
  let spent: Spend = NO_SPEND
  const reservations = new Map<string, ReservedBudget>()
  const exceeded: ReservedBudget = { calls: 0, tokens: 0, usd: 0 }
  return (event, scope) => {
    if (isEvent(event, 'run:start') || isEvent(event, 'run:reopen')) limits = event.data.limits
    if (!event.type.startsWith('model:')) return
    if (event.session_id === undefined) scope.report('ledger', `${event.type} belongs to no session`)
    const isReserved = reservations.get((event as { data: { key: string } }).data.key)?.calls !== 0
    if (isEvent(event, 'model:begin')) reservations.set(event.data.key, event.data.reserved)
    else reservations.delete((event as { data: { key: string } }).data.key)
    spent = addSpend(spent, event)
    if (limits)
      checkLimits({ event, limits, spent, reservations: [...reservations.values()], isReserved, exceeded }, scope)
  }
}

interface LimitUsage {
  event: Event
  limits: Limits
  spent: Spend
  reservations: ReservedBudget[]
  isReserved: boolean
  /** The sums that usage without a reservation has reached. */
  exceeded: ReservedBudget
}

function checkLimits(usage: LimitUsage, { report }: CheckScope): void {
  const { event, limits, spent, reservations, isReserved, exceeded } = usage
  const sumReserved = (field: keyof ReservedBudget) =>
    reservations.reduce((total, reserved) => total + reserved[field], 0)
  const check = (limit: 'calls' | 'tokens' | 'usd', sum: number) => {
    const max = limits[limit]
    if (!isReserved) exceeded[limit] = Math.max(exceeded[limit], sum)
    if (max !== null && sum > Math.max(max, exceeded[limit]) + ROUNDING)
      report('limit', `${event.type}: ${sum} of ${max} ${limit} are used or reserved`)
  }
  check('calls', spent.calls + spent.lost.calls + sumReserved('calls'))
  check('tokens', totalTokens(spent) + spent.lost.tokens + sumReserved('tokens'))
  check('usd', sumUsd(spent.usd ?? 0, spent.lost.usd, sumReserved('usd')))
  if (reservations.length > limits.concurrency)
    report('limit', `${reservations.length} model requests in flight, limit \`concurrency\` is ${limits.concurrency}`)
}
