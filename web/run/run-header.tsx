import type { ReactNode } from 'react'
import type { Panel } from '../../src/views/panel.ts'
import { isPartial, partialText } from '../../src/views/result-status.ts'
import type { TimelineRun } from '../../src/views/timeline/timeline.ts'
import { Tag } from '../design/controls.tsx'
import {
  capitalize,
  formatCount,
  formatDuration,
  formatIdentifier,
  formatMinute,
  formatTokens,
  formatUsd,
} from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { StateChip, stateLabel } from '../design/state.tsx'
import { Link } from '../shell/link.tsx'
import type { RunScope } from './run-context.ts'
import { RunControls } from './run-controls.tsx'
import { useStoreVersion } from './watch-run.ts'

/** Title, state, facts and controls, then the tabs. At an earlier event, the figures are those of that event. */
export function RunHeader({
  scope,
  panels,
  now,
}: {
  scope: RunScope
  panels: readonly Panel[]
  now: number
}): ReactNode {
  const { store } = scope
  useStoreVersion(store)
  const run = store.run
  if (!run) return null
  return (
    <header className="run-header">
      <div className="run-title-row">
        <h1 className="run-title clip" title={inertLine(run.title, 400)}>
          {inertLine(run.title || run.id, 200)}
        </h1>
        <StateChip state={chipState(scope, run)}>{stateText(scope, run)}</StateChip>
        {run.tags.slice(0, 4).map((tag) => (
          <Tag key={tag}>{tag}</Tag>
        ))}
        <span className="grow" />
        <RunControls scope={scope} run={run} />
      </div>
      <RunFacts scope={scope} run={run} now={now} />
      <RunTabs scope={scope} panels={panels} />
    </header>
  )
}

function chipState({ store, place }: RunScope, run: TimelineRun): string {
  const moment = store.at(place.seq)
  if (place.seq !== null && !moment.ended) return moment.open_gates > 0 ? 'waiting' : 'running'
  if (run.open_gates > 0 && !moment.ended) return 'waiting'
  return isPartial(run) ? 'stalled' : run.status
}

const LIVE_WORDS: Readonly<Record<string, string>> = { pending: 'Pending', running: 'Running', waiting: 'Waiting' }

/** `Running, 1 question for you`; why a run ended, if that is not what its state says. */
export function stateText({ store, place }: Pick<RunScope, 'store' | 'place'>, run: TimelineRun): string {
  const moment = store.at(place.seq)
  const open = moment.open_gates
  const questions = open === 0 ? '' : `, ${open} ${open === 1 ? 'question' : 'questions'} for you`
  if (!moment.ended) return `${place.seq === null ? (LIVE_WORDS[run.status] ?? 'Running') : 'Running'}${questions}`
  if (isPartial(run)) return capitalize(partialText(run.stop_reason, run.progress))
  const reason =
    run.stop_reason === null || run.stop_reason === run.status ? '' : `, ${formatIdentifier(run.stop_reason)}`
  return `${stateLabel(run.status)}${reason}`
}

function RunFacts({ scope, run, now }: { scope: RunScope; run: TimelineRun; now: number }): ReactNode {
  const { store, place } = scope
  const moment = store.at(place.seq)
  const replaying = place.seq !== null
  const end = replaying ? moment.at : (run.ended_at ?? now)
  const { input, output } = replaying ? moment.tokens : run.tokens
  const usd = replaying ? { usd: moment.usd, known_usd: moment.known_usd } : run
  const limit = run.limits?.usd ?? null
  return (
    <dl className="run-facts">
      <Fact label={inertLine(run.pattern, 40)}>
        {run.progress && !replaying ? inertLine(run.progress.text, 80) : ''}
      </Fact>
      <Fact label="started">{formatMinute(run.started_at)}</Fact>
      {!replaying && <Fact label="active">{formatDuration(run.active_ms)}</Fact>}
      <Fact label="elapsed">{formatDuration(end - run.started_at)}</Fact>
      <Fact label="calls">{formatCount(replaying ? moment.calls : run.calls)}</Fact>
      <Fact label="tokens">{formatTokens(input + output)}</Fact>
      <Fact label="cost">
        {costText(usd)}
        {limit !== null && ` of ${formatUsd(limit)}`}
      </Fact>
      {run.forked_from && (
        <Fact label="forked from">
          <Link
            to={{
              page: 'run',
              runId: run.forked_from.run_id,
              tab: 'timeline',
              at: null,
              range: null,
              seq: run.forked_from.seq,
            }}
          >
            {inertLine(run.forked_from.run_id, 40)}
          </Link>
        </Fact>
      )}
      {run.error !== null && !replaying && (
        <Fact label="error">
          <span className="tone-bad">{inertLine(run.error, 200)}</span>
        </Fact>
      )}
    </dl>
  )
}

function Fact({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{label}</dt>
      {children !== '' && <dd>{children}</dd>}
    </div>
  )
}

function costText({ usd, known_usd }: { usd: number | null; known_usd: number }): string {
  if (usd !== null) return formatUsd(usd)
  return known_usd > 0 ? `at least ${formatUsd(known_usd)}` : 'unknown'
}

function RunTabs({ scope, panels }: { scope: RunScope; panels: readonly Panel[] }): ReactNode {
  const { store, place } = scope
  const limit = place.seq ?? Infinity
  const messages = store.rows('messages').filter(({ seq }) => seq <= limit).length
  const tabs = [
    { id: 'timeline', title: 'Timeline', badge: '' },
    // The page of costs draws this panel itself.
    ...panels.flatMap(({ id, title, badge }) => (id === 'cost' ? [] : [{ id, title, badge: badge ?? '' }])),
    { id: 'messages', title: 'Messages', badge: formatCount(messages) },
    { id: 'cost', title: 'Cost', badge: '' },
    { id: 'events', title: 'Events', badge: formatCount(place.seq ?? store.seq) },
    { id: 'artifacts', title: 'Artifacts', badge: '' },
  ]
  return (
    <nav className="run-tabs" aria-label="Views of the run">
      {tabs.map(({ id, title, badge }) => (
        <Link key={id} to={{ ...place, tab: id }} aria-current={isCurrent(id, place.tab) ? 'page' : undefined}>
          {inertLine(title, 40)} {badge !== '' && <span className="tab-badge">{inertLine(badge, 40)}</span>}
        </Link>
      ))}
    </nav>
  )
}

/** The table is another form of the timeline. */
function isCurrent(id: string, tab: string): boolean {
  return id === tab || (id === 'timeline' && tab === 'table')
}
