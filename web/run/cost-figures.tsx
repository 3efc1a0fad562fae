import type { ReactNode } from 'react'
import type { CostProjection } from '../../src/views/cost-projection.ts'
import type { TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { formatCountOf, formatDuration, formatShare, formatTokens, formatUsd } from '../design/format.ts'
import type { RunScope } from './run-context.ts'

interface FiguresProps {
  scope: RunScope
  turns: readonly TimelineTurn[]
  projection: CostProjection
}

export function CostFigures({ scope, turns, projection }: FiguresProps): ReactNode {
  const { store, place } = scope
  const { input, output, cached } = tokenSum(turns)
  const known = turns.reduce((sum, { usd }) => sum + (usd ?? 0), 0)
  const limit = store.run?.limits?.usd ?? null
  const unknown = turns.some(({ usd }) => usd === null)
  const calls = store.at(place.seq).calls
  return (
    <section className="card cost-figures">
      <Figure title={unknown ? 'Cost, known prices only' : 'Cost so far'} value={formatUsd(known)}>
        {limit !== null && (
          <>
            <span className="cost-meter" aria-hidden="true">
              <span style={{ width: `${Math.min(100, (100 * known) / Math.max(limit, 1e-9))}%` }} />
            </span>{' '}
            of {formatUsd(limit)}
          </>
        )}
      </Figure>
      <PaceFigure projection={projection} turns={turns} known={known} />
      <Figure title="Tokens" value={formatTokens(input + output)}>
        {`${formatTokens(input)} in, ${formatTokens(output)} out`}
      </Figure>
      <Figure title="Cache" value={formatShare(input === 0 ? 0 : cached / input)}>
        of the input
      </Figure>
      <Figure title="Turns" value={String(turns.length)}>
        {formatCountOf(calls, 'call')}
      </Figure>
    </section>
  )
}

const LIMIT_NAMES = { cost: 'Cost', tokens: 'Token', requests: 'Request' }

/** When the limit is reached at this pace; without one, what the last minutes cost. */
function PaceFigure({ projection, turns, known }: Omit<FiguresProps, 'scope'> & { known: number }): ReactNode {
  const { recent, recent_ms, limit } = projection
  if (limit)
    return (
      <Figure
        title={`${LIMIT_NAMES[limit.name]} limit of ${limit.name === 'cost' ? formatUsd(limit.limit) : formatTokens(limit.limit)}`}
        value={limit.left === 0 ? 'reached' : `in about ${formatDuration(roundedTime(limit.in_ms))}`}
      >
        {limit.left === 0 ? 'nothing left' : 'at this pace'}
      </Figure>
    )
  if (known === 0)
    return (
      <Figure title="A turn" value={formatTokens(tokensOfAll(turns) / turns.length)}>
        tokens on average
      </Figure>
    )
  if (recent.usd > 0 && recent_ms > 0)
    return (
      <Figure title={`Last ${formatDuration(recent_ms)}`} value={formatUsd(recent.usd)}>
        {formatUsd((recent.usd / recent_ms) * 60_000)} a minute
      </Figure>
    )
  return (
    <Figure title="A turn" value={formatUsd(known / turns.length)}>
      on average
    </Figure>
  )
}

/** An estimate has no seconds beyond its first minutes. */
function roundedTime(ms: number): number {
  const unit = ms < 120_000 ? 1_000 : ms < 7_200_000 ? 60_000 : 3_600_000
  return Math.round(ms / unit) * unit
}

function tokenSum(turns: readonly TimelineTurn[]): TimelineTurn['tokens'] {
  const total = { input: 0, output: 0, cached: 0 }
  for (const { tokens } of turns) {
    total.input += tokens.input
    total.output += tokens.output
    total.cached += tokens.cached
  }
  return total
}

function tokensOfAll(turns: readonly TimelineTurn[]): number {
  return turns.reduce((sum, turn) => sum + tokensOf(turn), 0)
}

function Figure({ title, value, children }: { title: string; value: string; children: ReactNode }): ReactNode {
  return (
    <div className="cost-figure">
      <span className="muted">{title}</span>
      <span>
        <strong>{value}</strong> <span className="muted cost-note">{children}</span>
      </span>
    </div>
  )
}

export function tokensOf({ tokens }: TimelineTurn): number {
  return tokens.input + tokens.output
}
