import type { SessionEnd, Status } from '../../kernel/event.ts'
import type { SessionStatus } from './agent-session.ts'
import type { RunFacts } from './session-records.ts'

export function toIso(at: number): string {
  return new Date(at).toISOString()
}

export function runStatus({ end, parked, questions, segments }: RunFacts): Status {
  if (end) return end.status
  if (parked && questions.size > 0) return 'waiting'
  return segments.size === 0 ? 'pending' : 'running'
}

/** `waiting` is in progress; `cancelled` has failed; a run that completed with a partial result is a success, and its `stop_reason` says so. */
const SESSION_STATUSES: Readonly<Record<Status, SessionStatus>> = {
  pending: 'in_progress',
  running: 'in_progress',
  waiting: 'in_progress',
  completed: 'success',
  failed: 'failed',
  cancelled: 'failed',
}

export function toSessionStatus(status: Status): SessionStatus {
  return SESSION_STATUSES[status]
}

/** The status of a session; one that the end of the run cut off has failed. */
export function sessionStatus(facts: RunFacts, end: SessionEnd | undefined): SessionStatus {
  return toSessionStatus(end?.status ?? (facts.end ? 'failed' : 'running'))
}

const LIMIT_REASONS: readonly string[] = ['partial', 'max_turns', 'budget', 'timeout']

/** The status of a task in the words of its contract. */
export function taskStatus({ status, stop_reason, text }: SessionEnd): 'completed' | 'partial' | 'failed' {
  if (status === 'completed') return stop_reason === 'completed' ? 'completed' : 'partial'
  return LIMIT_REASONS.includes(stop_reason) && text.trim() !== '' ? 'partial' : 'failed'
}
