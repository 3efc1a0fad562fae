import type { Event, ReservedBudget } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND, totalTokens } from '../kernel/spend.ts'
import type { CheckScope, JournalCheck } from './finding.ts'

/** Sums of prices in floating point. */
const ROUNDING = 1e-9

/** Spent, lost and set aside together never exceed a limit, and every call belongs to a session. */
export function checkBudget(): JournalCheck {
  let limits: Limits | undefined
  let spent: Spend = NO_SPEND
  const held = new Map<string, ReservedBudget>()
  return (event, before) => {
    if (isEvent(event, 'run:start') || isEvent(event, 'run:reopen')) limits = event.data.limits
    if (!event.type.startsWith('model:')) return
    if (event.session_id === undefined) before.report('ledger', `${event.type} belongs to no session`)
    if (isEvent(event, 'model:begin')) held.set(event.data.key, event.data.reserved)
    else held.delete((event as { data: { key: string } }).data.key)
    spent = addSpend(spent, event)
    if (limits) compareWithLimits(event, limits, { spent, held: [...held.values()] }, before)
  }
}

function compareWithLimits(
  event: Event,
  limits: Limits,
  used: { spent: Spend; held: ReservedBudget[] },
  { report }: CheckScope,
): void {
  const { spent, held } = used
  const add = (field: keyof ReservedBudget) => held.reduce((total, reserved) => total + reserved[field], 0)
  const over = (limit: 'calls' | 'tokens' | 'usd', sum: number) => {
    const max = limits[limit]
    if (max !== null && sum > max + ROUNDING)
      report('limit', `${event.type}: ${sum} of ${max} ${limit} are used or reserved`)
  }
  over('calls', spent.calls + spent.lost.calls + add('calls'))
  over('tokens', totalTokens(spent) + spent.lost.tokens + add('tokens'))
  over('usd', (spent.usd ?? 0) + spent.lost.usd + add('usd'))
  if (held.length > limits.concurrency)
    report('limit', `${held.length} calls at once, ${limits.concurrency} are allowed`)
}
