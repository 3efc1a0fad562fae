import type { ReactNode } from 'react'
import { useEffect, useRef } from 'react'
import type { TimelineLane } from '../../src/views/timeline/timeline.ts'
import type { LaneMoment } from '../data/timeline-moment.ts'
import {
  capitalize,
  formatCount,
  formatCountOf,
  formatDuration,
  formatShare,
  formatTokens,
  formatUsd,
} from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { StateText } from '../design/state.tsx'
import { useNow } from '../shell/page-context.ts'
import type { RunScope } from './run-context.ts'
import { select } from './run-context.ts'
import { useStoreVersion } from './watch-run.ts'

/** One card per agent: its state in words, what it does now, and its figures, at the event that is shown. */
export function AgentCards({ scope }: { scope: RunScope }): ReactNode {
  const { store, place } = scope
  useStoreVersion(store)
  const clock = useNow(1_000)
  const moment = store.at(place.seq)
  const selected = place.at?.kind === 'agent' ? place.at.id : null
  return (
    <ul className="agent-cards" aria-label="Agents">
      {store.rows('lanes').map((lane, index) => {
        const now = moment.lanes.get(lane.id)
        if (!now) return null
        return (
          <AgentCard
            key={lane.id}
            lane={lane}
            index={index}
            now={now}
            at={place.seq === null && !moment.ended ? clock : moment.at}
            selected={selected === lane.id}
            onSelect={() => select(place, selected === lane.id ? null : { kind: 'agent', id: lane.id })}
          />
        )
      })}
    </ul>
  )
}

interface AgentCardProps {
  lane: TimelineLane
  index: number
  now: LaneMoment
  /** The time that is shown. */
  at: number
  selected: boolean
  onSelect(): void
}

function AgentCard({ lane, index, now, at, selected, onSelect }: AgentCardProps): ReactNode {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (selected) button.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [selected])
  const tasks = now.sessions.open + now.sessions.ended
  const { input, output, cached } = now.tokens
  const tokenTitle = `${formatCount(input)} in, ${formatCount(output)} out, ${formatShare(input ? cached / input : 0)} of the input from cache`
  return (
    <li className="agent-card-place">
      <button
        ref={button}
        type="button"
        className={`agent-card${now.state === 'waiting' ? ' needs-you' : ''}`}
        aria-pressed={selected}
        onClick={onSelect}
      >
        <span className="agent-card-head">
          <Monogram label={lane.label} index={index} />
          <strong className="clip">{inertLine(lane.label, 60)}</strong>
          <span className="agent-model clip" title={inertLine(lane.model ?? '', 200)}>
            {inertLine(shortModel(lane.model), 40)}
          </span>
        </span>
        <span className="agent-action">
          <StateText state={now.state}>{actionText(now, at)}</StateText>
        </span>
        <span className="agent-figures">
          <span>{formatCountOf(now.calls, 'call')}</span>
          <span>
            {now.sessions.ended - now.sessions.failed}/{tasks} {tasks === 1 ? 'task' : 'tasks'}
            {now.sessions.failed === 0 ? '' : `, ${now.sessions.failed} failed`}
          </span>
          <span title="busy time">{formatDuration(now.busy_ms)}</span>
        </span>
        <span className="agent-figures">
          <span title={tokenTitle}>{formatTokens(input + output)} tokens</span>
          <span>{now.usd === null && now.known_usd > 0 ? `≥ ${formatUsd(now.known_usd)}` : formatUsd(now.usd)}</span>
        </span>
      </button>
    </li>
  )
}

/** `anthropic/claude-sonnet-4-5` is `sonnet-4-5` on a card, and a path is its last part. */
export function shortModel(model: string | null): string {
  const last = (model ?? '').split(/[/\\]/).at(-1) ?? ''
  return last
    .replace(/^[a-z0-9_-]+:/i, last === model ? '' : '$&')
    .replace(/^claude-/, '')
    .replace(/-\d{8}$/, '')
}

export function actionText(now: LaneMoment, at: number): string {
  const words = capitalize(inertLine(now.action, 120))
  const waits = now.state === 'waiting' || now.state === 'stalled'
  const seconds = waits && now.since !== null ? Math.floor((at - now.since) / 1000) : 0
  return seconds > 0 ? `${words}, ${formatDuration(seconds * 1000)}` : words
}
