import type { ReactNode } from 'react'
import { useMemo, useState } from 'react'
import type { Panel } from '../../src/kernel/panel.ts'
import type { TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { Blocks } from '../blocks/block.tsx'
import { TableBlock } from '../blocks/table.tsx'
import { Segments } from '../design/controls.tsx'
import { formatShare, formatTime, formatTokens, formatUsd } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { EmptyState } from '../design/notice.tsx'
import { CostChartPicture } from './cost-chart.tsx'
import { costRows, modelRows } from './cost-rows.ts'
import type { CostGroup, CostUnit } from './cost-series.ts'
import { costChart, respondedTurns } from './cost-series.ts'
import type { RunScope } from './run-context.ts'
import { select } from './run-context.ts'
import { useStoreVersion } from './watch-run.ts'

const MOST_EXPENSIVE = 14

/** What the run cost up to the event that is shown: over time, by agent, by model, and its most expensive turns. */
export function CostTab({
  scope,
  now,
  accounts,
}: {
  scope: RunScope
  now: number
  /** Limits, and requests that were lost or estimated. */
  accounts: Panel | undefined
}): ReactNode {
  const { store, place } = scope
  const version = useStoreVersion(store)
  const turns = useMemo(() => {
    void version
    return respondedTurns(store.rows('turns'), place.seq)
  }, [store, version, place.seq])
  if (turns.length === 0)
    return <EmptyState title="No cost yet">It is counted from the first response of a model on.</EmptyState>
  return (
    <div className="tab-page cost-tab">
      <div className="cost-main">
        <CostFigures scope={scope} turns={turns} />
        <CostOverTime scope={scope} now={now} />
        <section className="card">
          <header className="section-head">
            <h2>By agent</h2>
            <span className="muted">tokens and cost</span>
          </header>
          <TableBlock block={{ kind: 'table', columns: AGENT_COLUMNS, rows: costRows(turns, store.rows('lanes')) }} />
        </section>
      </div>
      <div className="cost-side">
        <ByModel turns={turns} />
        {accounts && (
          <section className="card">
            <header className="section-head">
              <h2>Accounts</h2>
            </header>
            <Blocks blocks={accounts.blocks} />
          </section>
        )}
        <MostExpensive scope={scope} turns={turns} />
      </div>
    </div>
  )
}

const AGENT_COLUMNS = [
  { key: 'agent', title: 'Agent', unit: 'agent' },
  { key: 'model', title: 'Model' },
  { key: 'turns', title: 'Turns', unit: 'count' },
  { key: 'input', title: 'Input', unit: 'tokens' },
  { key: 'cached', title: 'Cached', unit: 'tokens' },
  { key: 'output', title: 'Output', unit: 'tokens' },
  { key: 'usd', title: 'Cost', unit: 'usd' },
  { key: 'share', title: 'Share', unit: 'share' },
] as const

function CostFigures({ scope, turns }: { scope: RunScope; turns: readonly TimelineTurn[] }): ReactNode {
  const { store, place } = scope
  const moment = store.at(place.seq)
  const { input, output, cached } = moment.tokens
  const limit = store.run?.limits?.usd ?? null
  const unknown = moment.usd === null
  return (
    <section className="card cost-figures">
      <Figure title={unknown ? 'Cost, known prices only' : 'Cost so far'} value={formatUsd(moment.known_usd)}>
        {limit !== null && `of ${formatUsd(limit)}`}
      </Figure>
      <Figure title="Tokens" value={formatTokens(input + output)}>
        {`${formatTokens(input)} in, ${formatTokens(output)} out`}
      </Figure>
      <Figure title="Cache" value={formatShare(input === 0 ? 0 : cached / input)}>
        of the input
      </Figure>
      <Figure title="Turns" value={String(turns.length)}>{`${moment.calls} calls`}</Figure>
      <Figure title="A turn" value={formatUsd(moment.known_usd / turns.length)}>
        on average
      </Figure>
    </section>
  )
}

function Figure({ title, value, children }: { title: string; value: string; children: ReactNode }): ReactNode {
  return (
    <div className="cost-figure">
      <span className="muted">{title}</span>
      <span>
        <strong>{value}</strong> <span className="muted">{children}</span>
      </span>
    </div>
  )
}

function CostOverTime({ scope, now }: { scope: RunScope; now: number }): ReactNode {
  const { store, place } = scope
  const [group, setGroup] = useState<CostGroup>('agent')
  // Without prices, tokens are all there is.
  const [unit, setUnit] = useState<CostUnit>(store.at(place.seq).known_usd > 0 ? 'usd' : 'tokens')
  const until = Math.max(place.seq === null ? (store.run?.ended_at ?? now) : store.timeOf(place.seq), store.timeOf(0))
  const chart = costChart(store.rows('turns'), { lanes: store.rows('lanes'), unit, group, seq: place.seq, until })
  return (
    <section className="card">
      <header className="section-head">
        <h2>Cost over time</h2>
        <span className="grow" />
        <Segments label="By" options={GROUPS} value={group} onChange={setGroup} />
        <Segments label="In" options={UNITS} value={unit} onChange={setUnit} />
      </header>
      <CostChartPicture chart={chart} unit={unit} />
    </section>
  )
}

const GROUPS = [
  { value: 'agent', label: 'Agent' },
  { value: 'model', label: 'Model' },
] as const
const UNITS = [
  { value: 'usd', label: 'Dollars' },
  { value: 'tokens', label: 'Tokens' },
] as const

function ByModel({ turns }: { turns: readonly TimelineTurn[] }): ReactNode {
  return (
    <section className="card">
      <header className="section-head">
        <h2>By model</h2>
      </header>
      <ul className="model-list">
        {modelRows(turns).map(({ model, usd, share, tokens }) => (
          <li key={model}>
            <div className="model-line">
              <span className="clip">{inertLine(model, 60)}</span>
              <span>{formatUsd(usd)}</span>
            </div>
            <div className="share-track" aria-hidden="true">
              <div className="share-bar" style={{ width: `${share * 100}%` }} />
            </div>
            <div className="model-line muted">
              <span>{formatTokens(tokens)} tokens</span>
              <span>{formatShare(share)}</span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

function tokensOf({ tokens }: TimelineTurn): number {
  return tokens.input + tokens.output
}

function MostExpensive({ scope, turns }: { scope: RunScope; turns: readonly TimelineTurn[] }): ReactNode {
  const lanes = scope.store.rows('lanes')
  const first = turns
    .toSorted((a, b) => (b.usd ?? 0) - (a.usd ?? 0) || tokensOf(b) - tokensOf(a))
    .slice(0, MOST_EXPENSIVE)
  return (
    <section className="card">
      <header className="section-head">
        <h2>Most expensive turns</h2>
      </header>
      <ul className="turn-list">
        {first.map((turn) => {
          const index = lanes.findIndex(({ id }) => id === turn.lane)
          const label = lanes[index]?.label ?? ''
          return (
            <li key={turn.id}>
              <button
                type="button"
                className="turn-row"
                onClick={() => select(scope.place, { kind: 'turn', id: turn.id })}
              >
                <Monogram label={label} index={index} />
                <span className="visually-hidden">{inertLine(label, 60)}</span>
                <span className="clip">{inertLine(turn.title || `Turn ${turn.number}`, 120)}</span>
                <span className="muted">{formatTime(turn.started_at)}</span>
                <span className="number turn-cost">
                  {turn.usd ? formatUsd(turn.usd) : formatTokens(tokensOf(turn))}
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
