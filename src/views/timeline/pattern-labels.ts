import type { ErrorRecord } from '../../errors.ts'
import type { SessionLabel } from '../pattern-view.ts'
import type { PatternState } from '../run-view.ts'
import type { SessionEntry, TimelineState } from './timeline-state.ts'

/**
 * Calls a function of a pattern's view. One that throws is not used again: the journal may be of another version of the pattern, and the run
 * must stay visible.
 */
export function callPatternView<T>(state: TimelineState, pattern: PatternState, call: () => T): T | undefined {
  try {
    return call()
  } catch {
    const place = state.patterns.indexOf(pattern)
    if (place !== -1) state.patterns.splice(place, 1)
    state.notices.failedViews.push(pattern.name)
    return undefined
  }
}

/** The labels that the pattern of a session gives it. */
export function sessionLabels(
  state: TimelineState,
  { row, data, counts }: SessionEntry,
  error: ErrorRecord | null = null,
): SessionLabel | undefined {
  const { key, started_at, ended_at } = row
  const status = row.status === 'waiting' ? 'running' : row.status
  const { agent, depth } = data
  const { requests: calls, tokens } = counts
  const facts = { key, agent: agent.name, depth, status, error, calls, tokens, started_at, ended_at }
  for (const pattern of [...state.patterns]) {
    const label = callPatternView(state, pattern, () => pattern.view.session?.(pattern.state, facts))
    if (label) return label
  }
  return undefined
}
