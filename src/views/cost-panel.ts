import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { PriceBook } from '../kernel/spend.ts'
import { totalTokens } from '../kernel/spend.ts'
import type { AccountSum } from '../run-model/accounts.ts'
import { accountsFrom } from '../run-model/accounts.ts'
import type { CostReport } from './cost-report.ts'
import { costReportFrom } from './cost-report.ts'
import { pluralize } from './format-amount.ts'
import type { Panel, PanelFact } from './panel.ts'
import type { FactEntry } from './panel-blocks.ts'
import { presentFacts } from './panel-blocks.ts'

/* The accounts of a run: what its timeline cannot tell, such as what is left of its limits, and requests that were lost or estimated. */

/** The accounts of a run so far; none before its first model request. */
export function costPanel(events: readonly Event[], prices: PriceBook): Panel | undefined {
  const rows = accountsFrom(events, prices)
  if (rows.length === 0) return undefined
  const report = costReportFrom(rows)
  return {
    id: 'cost',
    title: 'Cost',
    blocks: [{ kind: 'facts', facts: totalFacts(report, limitsOf(events)) }],
  }
}

function limitsOf(events: readonly Event[]): Limits | undefined {
  const newest = events.findLast((event) => isEvent(event, 'run:reopen') || isEvent(event, 'run:start'))
  return isEvent(newest, 'run:start') || isEvent(newest, 'run:reopen') ? newest.data.limits : undefined
}

function totalFacts({ total, unpriced_models, inherited }: CostReport, limits: Limits | undefined): PanelFact[] {
  const { usage, lost, estimated, open } = total
  const tokens = totalTokens(usage)
  const ifAny = (count: number, value: number = count) => (count > 0 ? value : undefined)
  return presentFacts([
    ['cost', total.usd, 'usd'],
    ['known part', total.usd === null ? total.known_usd : undefined, 'usd'],
    ...leftFacts(total, limits),
    ['requests', total.calls, 'count'],
    ['tokens', tokens, 'tokens'],
    ['from the cache', usage.input === 0 ? null : usage.cache_read / usage.input, 'share'],
    ['failed', ifAny(total.failed), 'count'],
    [`lost in ${pluralize(lost.calls, 'request')}, reserved`, ifAny(lost.calls, lost.tokens), 'tokens', 'attention'],
    [
      `estimated in ${pluralize(estimated.calls, 'request')}`,
      ifAny(estimated.calls, estimated.tokens),
      'tokens',
      'attention',
    ],
    ['reserved by requests at work', ifAny(open.calls, open.tokens), 'tokens'],
    ['without a known price', unpriced_models.join(', ') || undefined, '', 'attention'],
    ['inherited from the forked run, not counted', ifAny(inherited), 'count'],
  ])
}

/** What is left of each limit; lost requests count at their reservation. */
function leftFacts({ known_usd, usage, calls, lost }: AccountSum, limits: Limits | undefined): FactEntry[] {
  if (!limits) return []
  const left: [string, number | null, number, 'usd' | 'tokens' | 'count'][] = [
    ['cost', limits.usd, known_usd + (lost.usd ?? 0), 'usd'],
    ['tokens', limits.tokens, totalTokens(usage) + lost.tokens, 'tokens'],
    ['requests', limits.calls, calls + lost.calls, 'count'],
  ]
  return left.flatMap(([name, limit, used, unit]): FactEntry[] => {
    if (limit === null) return []
    const value = Math.max(0, limit - used)
    return [[`${name} left`, value, unit, value < limit * 0.1 ? 'attention' : undefined]]
  })
}
