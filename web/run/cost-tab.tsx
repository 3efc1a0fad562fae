import type { ReactNode } from 'react'
import { useMemo, useState } from 'react'
import type { CostChart, CostGroup, CostUnit } from '../../src/views/cost-over-time.ts'
import { costChart, paidTurns } from '../../src/views/cost-over-time.ts'
import type { CostProjection } from '../../src/views/cost-projection.ts'
import { costProjection } from '../../src/views/cost-projection.ts'
import { costRows, modelRows } from '../../src/views/cost-rows.ts'
import type { Panel, PanelBlock } from '../../src/views/panel.ts'
import type { TimelineLane, TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { Blocks } from '../blocks/block.tsx'
import { TableBlock } from '../blocks/table.tsx'
import { Segments } from '../design/controls.tsx'
import { formatShare, formatTime, formatTokens, formatUsd } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { EmptyState } from '../design/notice.tsx'
import { shortModel } from './agent-cards.tsx'
import { CostChartPicture } from './cost-chart.tsx'
import { CostFigures, tokensOf } from './cost-figures.tsx'
import type { RunScope } from './run-context.ts'
import { select } from './run-context.ts'
import { useStoreVersion } from './watch-run.ts'

const MOST_EXPENSIVE = 14

type TableData = Extract<PanelBlock, { kind: 'table' }>

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
    return paidTurns(store.rows('turns'), { seq: place.seq, inherited: store.run?.forked_from?.inherited ?? 0 })
  }, [store, version, place.seq])
  const until = Math.max(place.seq === null ? (store.run?.ended_at ?? now) : store.timeOf(place.seq), store.timeOf(0))
  const projection =
    store.run &&
    costProjection({
      ...{ run: store.run, turns: store.rows('turns'), pauses: store.rows('pauses'), seq: place.seq, until },
    })
  if (turns.length === 0 || !projection)
    return <EmptyState title="No cost yet">It is counted from the first response of a model on.</EmptyState>
  return (
    <div className="tab-page cost-tab">
      <div className="cost-main">
        <CostFigures scope={scope} turns={turns} projection={projection} />
        <CostOverTime scope={scope} until={until} projection={projection} />
        <section className="card">
          <header className="section-head">
            <h2>By agent</h2>
            <span className="muted">tokens and cost</span>
          </header>
          <TableBlock block={{ kind: 'table', columns: AGENT_COLUMNS, rows: agentRows(turns, store.rows('lanes')) }} />
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

function agentRows(turns: readonly TimelineTurn[], lanes: readonly TimelineLane[]) {
  return costRows(turns, lanes).map((row) => ({ ...row, model: row.model.split(', ').map(shortModel).join(', ') }))
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

function CostOverTime({
  scope,
  until,
  projection,
}: {
  scope: RunScope
  until: number
  projection: CostProjection
}): ReactNode {
  const { store, place } = scope
  const { run } = store
  const [group, setGroup] = useState<CostGroup>('agent')
  // Without prices, tokens are all there is.
  const [unit, setUnit] = useState<CostUnit>(store.at(place.seq).known_usd > 0 ? 'usd' : 'tokens')
  const [lanes, pauses] = [store.rows('lanes'), store.rows('pauses')]
  const inherited = run?.forked_from?.inherited ?? 0
  const chart = costChart(store.rows('turns'), { lanes, pauses, unit, group, seq: place.seq, until, inherited })
  const isLive = place.seq === null && run?.ended_seq === null
  const pace = isLive && projection.recent_ms > 0 ? projection.recent[unit] / projection.recent_ms : null
  return (
    <section className="card">
      <header className="section-head">
        <h2>Cost over time</h2>
        <span className="grow" />
        <Segments label="By" options={GROUPS} value={group} onChange={setGroup} />
        <Segments label="In" options={UNITS} value={unit} onChange={setUnit} />
      </header>
      <CostChartPicture chart={chart} unit={unit} pace={pace} limit={run?.limits?.[unit] ?? null} />
      <details className="chart-table">
        <summary>Numbers of this chart</summary>
        <TableBlock block={intervalTable(chart, unit)} />
      </details>
    </section>
  )
}

/** The bars as a table: one row for each interval in which something was paid. */
export function intervalTable(chart: CostChart, unit: CostUnit): TableData {
  const columns = [
    { key: 'at', title: 'From', unit: 'time' as const },
    ...chart.series.map(({ label }, order) => ({ key: `s${order}`, title: label, unit })),
    { key: 'total', title: 'All', unit },
  ]
  const rows = chart.intervals
    .filter(({ total }) => total > 0)
    .map(({ at, amounts, total }) => ({
      at,
      ...Object.fromEntries(amounts.map((amount, order) => [`s${order}`, amount > 0 ? amount : null])),
      total,
    }))
  return { kind: 'table', columns, rows, empty: 'Nothing was paid yet.' }
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
              <span className="clip" title={inertLine(model, 200)}>
                {inertLine(shortModel(model), 60)}
              </span>
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
