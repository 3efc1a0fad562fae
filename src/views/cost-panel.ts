import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { PriceBook } from '../kernel/price.ts'
import { totalTokens } from '../kernel/spend.ts'
import type { AccountSum } from '../run-model/accounts.ts'
import { accountsFrom } from '../run-model/accounts.ts'
import type { CostReport } from './cost-report.ts'
import { costReportFrom } from './cost-report.ts'
import { pluralize } from './format-amount.ts'
import type { Panel, PanelFact } from './panel.ts'

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
  return [
    { label: 'cost', value: total.usd, unit: 'usd' },
    ...(total.usd === null ? [{ label: 'known part', value: total.known_usd, unit: 'usd' as const }] : []),
    ...leftFacts(total, limits),
    { label: 'requests', value: total.calls, unit: 'count' },
    { label: 'tokens', value: tokens, unit: 'tokens' },
    { label: 'from the cache', value: usage.input === 0 ? null : usage.cache_read / usage.input, unit: 'share' },
    ...(total.failed > 0 ? [{ label: 'failed', value: total.failed, unit: 'count' as const }] : []),
    ...(lost.calls > 0
      ? [
          {
            label: `lost in ${pluralize(lost.calls, 'request')}, reserved`,
            value: lost.tokens,
            unit: 'tokens' as const,
            tone: 'attention' as const,
          },
        ]
      : []),
    ...(estimated.calls > 0
      ? [
          {
            label: `estimated in ${pluralize(estimated.calls, 'request')}`,
            value: estimated.tokens,
            unit: 'tokens' as const,
            tone: 'attention' as const,
          },
        ]
      : []),
    ...(open.calls > 0 ? [{ label: 'reserved by requests at work', value: open.tokens, unit: 'tokens' as const }] : []),
    ...(unpriced_models.length > 0
      ? [{ label: 'without a known price', value: unpriced_models.join(', '), tone: 'attention' as const }]
      : []),
    ...(inherited > 0
      ? [{ label: 'inherited from the forked run, not counted', value: inherited, unit: 'count' as const }]
      : []),
  ]
}

/** What is left of each limit; lost requests count at their reservation. */
function leftFacts({ known_usd, usage, calls, lost }: AccountSum, limits: Limits | undefined): PanelFact[] {
  if (!limits) return []
  const left: [string, number | null, number, 'usd' | 'tokens' | 'count'][] = [
    ['cost', limits.usd, known_usd + (lost.usd ?? 0), 'usd'],
    ['tokens', limits.tokens, totalTokens(usage) + lost.tokens, 'tokens'],
    ['requests', limits.calls, calls + lost.calls, 'count'],
  ]
  return left.flatMap(([name, limit, used, unit]): PanelFact[] => {
    if (limit === null) return []
    const value = Math.max(0, limit - used)
    return [{ label: `${name} left`, value, unit, ...(value < limit * 0.1 ? { tone: 'attention' } : undefined) }]
  })
}
