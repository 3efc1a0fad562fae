import { memo, useMemo } from 'react'
import type { RunItem, RunSummary } from '../../src/surfaces/http/contract.ts'
import { longestWaitText } from '../../src/views/waiting.ts'
import { Tag } from '../design/controls.tsx'
import { formatAge, formatTime, formatTokens, formatUsd } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { Monogram, MonogramContext, uniqueMonograms } from '../design/monogram.tsx'
import { StateText } from '../design/state.tsx'
import { Link } from '../shell/link.tsx'
import { runPlace } from '../shell/router.ts'
import { LanesThumbnail } from './lanes-thumbnail.tsx'
import { runState } from './run-list.ts'

const MAX_MONOGRAMS = 4
const TONES = { neutral: '', bad: 'tone-bad', attention: 'tone-attention' } as const

interface RunRowProps {
  run: RunItem
  summary: RunSummary | undefined
  now: number
  current: boolean
  selected: boolean
  onOpen: (runId: string) => void
  onTag: (tag: string) => void
}

export const RunRow = memo(function RunRow({ run, summary, now, current, selected, onOpen, onTag }: RunRowProps) {
  const { state, label, look = state } = runState(run, summary)
  const title = inertLine(run.title, 240) || run.run_id
  const [firstTag, ...otherTags] = run.tags
  return (
    <tr
      className="run-row"
      data-run={run.run_id}
      aria-current={current ? 'true' : undefined}
      data-selected={selected ? '' : undefined}
      onClick={(event) => {
        if (event.target instanceof Element && event.target.closest('a, button') === null) onOpen(run.run_id)
      }}
    >
      <td className="column-state">
        <StateText state={look}>{label}</StateText>
      </td>
      <td className="column-run">
        <span className="run-title">
          <Link
            to={runPlace(run.run_id)}
            className="clip"
            tabIndex={current ? 0 : -1}
            title={title}
            {...(selected ? { 'aria-description': 'selected' } : undefined)}
          >
            {title}
          </Link>
          {firstTag === undefined ? null : (
            <button
              type="button"
              className="tag-button"
              tabIndex={-1}
              title={run.tags.map((tag) => inertLine(tag, 60)).join(', ')}
              onClick={() => onTag(firstTag)}
            >
              <Tag>{otherTags.length === 0 ? firstTag : `${firstTag.slice(0, 36)} +${otherTags.length}`}</Tag>
            </button>
          )}
        </span>
      </td>
      <td className="column-pattern clip">{inertLine(run.pattern, 40)}</td>
      <td className="column-agents">{summary ? <AgentMonograms labels={summary.agents} /> : null}</td>
      <td className="column-lanes">{summary ? <LanesThumbnail lanes={summary.lanes} /> : null}</td>
      <td
        className={`column-event clip ${summary ? lastEventTone(summary, state) : ''}`}
        title={summary ? `${formatTime(summary.last_event.at)} ${inertLine(summary.last_event.text, 300)}` : undefined}
      >
        {summary
          ? inertLine(summary.stalled ?? longestWaitText(summary.waiting, now) ?? summary.last_event.text, 200)
          : null}
      </td>
      <td className="column-progress">{summary?.progress ? <Progress {...summary.progress} /> : null}</td>
      <td className="column-tokens number">{formatTokens(run.usage.input + run.usage.output)}</td>
      <td className="column-cost number" title={costTitle(run)}>
        {formatUsd(run.usd)}
      </td>
      <td className="column-age number" title={new Date(run.created_at).toLocaleString('en-GB')}>
        {formatAge(now - run.created_at)}
      </td>
    </tr>
  )
})

function lastEventTone({ stalled, last_event }: RunSummary, state: string): string {
  if (stalled !== null) return 'tone-stalled'
  return state === 'waiting' && last_event.tone === 'neutral' ? '' : TONES[last_event.tone]
}

function costTitle({ usd, usage }: RunItem): string | undefined {
  if (usd === null) return `The price of a model is unknown; known so far: ${formatUsd(usage.known_usd)}`
  return usage.estimated ? 'Partly estimated' : undefined
}

function AgentMonograms({ labels }: { labels: readonly string[] }) {
  const more = labels.length - MAX_MONOGRAMS
  const monograms = useMemo(() => uniqueMonograms(labels), [labels])
  return (
    <MonogramContext value={monograms}>
      <span className="monograms">
        <span className="visually-hidden">{labels.map((label) => inertLine(label, 60)).join(', ')}</span>
        {labels.slice(0, more === 1 ? MAX_MONOGRAMS + 1 : MAX_MONOGRAMS).map((label, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of the lanes of a run never changes.
          <Monogram key={`${index} ${label}`} label={label} index={index} />
        ))}
        {more > 1 ? <span className="more-monograms">+{more}</span> : null}
      </span>
    </MonogramContext>
  )
}

function Progress({ text, share }: { text: string; share: number | null }) {
  return (
    <span className="run-progress">
      {share === null ? null : (
        <span className="bar">
          <i style={{ width: `${Math.round(Math.max(0, Math.min(1, share)) * 100)}%` }} />
        </span>
      )}
      <span className="clip">{inertLine(text, 60)}</span>
    </span>
  )
}
