import type { Event, Reserved } from './event.ts'
import { isEvent } from './event.ts'
import type { Before, Check } from './finding.ts'
import type { Spend } from './ledger.ts'
import { NO_SPEND, spend, tokensOf } from './ledger.ts'
import type { Limits } from './limits.ts'

/** Sums of prices in floating point. */
const ROUNDING = 1e-9

/** Spent, lost and set aside together never exceed a limit, and every call belongs to a session. */
export function checkBudget(): Check {
  let limits: Limits | undefined
  let spent: Spend = NO_SPEND
  const held = new Map<string, Reserved>()
  return (event, before) => {
    if (isEvent(event, 'run:start') || isEvent(event, 'run:reopen')) limits = event.data.limits
    if (!event.type.startsWith('model:')) return
    if (event.session_id === undefined) before.say('ledger', `${event.type} belongs to no session`)
    if (isEvent(event, 'model:begin')) held.set(event.data.key, event.data.reserved)
    else held.delete((event as { data: { key: string } }).data.key)
    spent = spend(spent, event)
    if (limits) compare(event, limits, { spent, held: [...held.values()] }, before)
  }
}

function compare(event: Event, limits: Limits, used: { spent: Spend; held: Reserved[] }, { say }: Before): void {
  const { spent, held } = used
  const add = (field: keyof Reserved) => held.reduce((total, reserved) => total + reserved[field], 0)
  const over = (limit: 'calls' | 'tokens' | 'usd', sum: number) => {
    const max = limits[limit]
    if (max !== null && sum > max + ROUNDING)
      say('limit', `${event.type}: ${sum} of ${max} ${limit} are used or reserved`)
  }
  over('calls', spent.calls + spent.lost.calls + add('calls'))
  over('tokens', tokensOf(spent) + spent.lost.tokens + add('tokens'))
  over('usd', (spent.usd ?? 0) + spent.lost.usd + add('usd'))
  if (held.length > limits.concurrency) say('limit', `${held.length} calls at once, ${limits.concurrency} are allowed`)
}
