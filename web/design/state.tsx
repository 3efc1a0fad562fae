import type { ReactNode } from 'react'
import { capitalize, formatIdentifier } from './format.ts'
import { inertLine } from './inert-text.ts'

/* States have a silhouette, a word and a colour, in this order of importance: none is told by colour alone. */

export type ViewState = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'stalled' | 'pending'

const LABELS: Record<ViewState, string> = {
  running: 'Running',
  waiting: 'Needs you',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  stalled: 'Stalled',
  pending: 'Pending',
}

const SYNONYMS: Record<string, ViewState> = {
  ok: 'completed',
  done: 'completed',
  approved: 'completed',
  resolved: 'completed',
  merged: 'completed',
  passed: 'completed',
  holds: 'completed',
  answered: 'completed',
  routed: 'running',
  in_progress: 'running',
  responded: 'running',
  escalated: 'waiting',
  lost: 'failed',
  timeout: 'failed',
  error: 'failed',
  rejected: 'failed',
  blocked: 'stalled',
  interrupted: 'stalled',
  'does not hold': 'cancelled',
  paused: 'pending',
  queued: 'pending',
}

/** The state behind a word of a run, session, turn, call or panel. */
export function toViewState(word: string): ViewState {
  return Object.hasOwn(LABELS, word) ? (word as ViewState) : (SYNONYMS[word] ?? 'pending')
}

export function stateLabel(word: string): string {
  if (Object.hasOwn(LABELS, word)) return LABELS[word as ViewState]
  return capitalize(inertLine(formatIdentifier(word), 40))
}

/** The silhouette of a state. Without `label` it is decoration beside a word. */
export function StateIcon({ state, label }: { state: string; label?: string }) {
  const known = toViewState(state)
  const className = `state-icon state-${known}`
  return label === undefined ? (
    <svg className={className} viewBox="0 0 14 14" aria-hidden="true">
      {SHAPES[known]}
    </svg>
  ) : (
    <svg className={className} viewBox="0 0 14 14" role="img" aria-label={label}>
      {SHAPES[known]}
    </svg>
  )
}

/** Icon and word. */
export function StateText({ state, children }: { state: string; children?: ReactNode }) {
  return (
    <span className={`state-text state-${toViewState(state)}`}>
      <StateIcon state={state} />
      <span className="clip">{children ?? stateLabel(state)}</span>
    </span>
  )
}

/** The same on its tint. */
export function StateChip({ state, children }: { state: string; children?: ReactNode }) {
  return (
    <span className={`state-chip state-${toViewState(state)}`}>
      <StateIcon state={state} />
      <span className="clip">{children ?? stateLabel(state)}</span>
    </span>
  )
}

const ring = (
  <circle cx="7" cy="7" r="5.6" fill="none" stroke="currentColor" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
)

const SHAPES: Record<ViewState, ReactNode> = {
  running: (
    <>
      <circle cx="7" cy="7" r="5.6" fill="none" stroke="currentColor" strokeWidth="1.5" opacity="0.32" />
      <path
        className="turning-arc"
        d="M7 1.4A5.6 5.6 0 0 1 12.6 7"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
      <circle cx="7" cy="7" r="1.7" fill="currentColor" />
    </>
  ),
  waiting: (
    <path
      fillRule="evenodd"
      fill="currentColor"
      d="M6.3.7a1 1 0 0 1 1.4 0l5.6 5.6a1 1 0 0 1 0 1.4l-5.6 5.6a1 1 0 0 1-1.4 0L.7 7.7a1 1 0 0 1 0-1.4ZM7 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z"
    />
  ),
  completed: (
    <>
      {ring}
      <path
        d="m4.4 7.2 1.8 1.8 3.5-3.8"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  failed: (
    <>
      <path d="M4.3.6h5.4l3.7 3.7v5.4l-3.7 3.7H4.3L.6 9.7V4.3Z" fill="currentColor" />
      <path className="cut" d="m4.7 4.7 4.6 4.6m0-4.6L4.7 9.3" fill="none" strokeWidth="1.6" strokeLinecap="round" />
    </>
  ),
  cancelled: (
    <>
      {ring}
      <path d="m3.2 10.8 7.6-7.6" stroke="currentColor" strokeWidth="1.5" />
    </>
  ),
  stalled: (
    <>
      <path d="M6.1 1.2a1 1 0 0 1 1.8 0l5.5 10.3a1 1 0 0 1-.9 1.5h-11a1 1 0 0 1-.9-1.5Z" fill="currentColor" />
      <path className="cut" d="M7 5v3.4M7 10.7v.1" fill="none" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  pending: (
    <circle
      cx="7"
      cy="7"
      r="5.6"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeDasharray="2.2 2.2"
      strokeLinecap="butt"
    />
  ),
}
