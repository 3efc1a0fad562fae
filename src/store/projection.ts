import { TroupeError } from '../errors.ts'
import type { Event, EventOf, Status, StopReason } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
import type { GateRow, SessionRow } from './store.ts'

/** The columns of a run's row that are derived from its events. */
export interface RunProjection {
  status: Status
  stop_reason: StopReason | null
  ended_at: number | null
  usage: Spend
}

export const NEW_RUN_PROJECTION: RunProjection = Object.freeze({
  status: 'pending',
  stop_reason: null,
  ended_at: null,
  usage: NO_SPEND,
})

/** Applies an event. Returns the same object if nothing changes, so that callers can skip the write. */
export function projectRun(before: RunProjection, event: Event): RunProjection {
  switch (event.type) {
    case 'run:attempt':
      return { ...before, status: 'running' }
    case 'run:park':
      return { ...before, status: 'waiting' }
    case 'run:interrupt':
      return { ...before, status: 'pending' }
    case 'run:reopen':
      return { ...before, status: 'pending', stop_reason: null, ended_at: null }
    case 'run:end':
      return { ...before, status: event.data.status, stop_reason: event.data.stop_reason, ended_at: event.at }
    default: {
      const usage = addSpend(before.usage, event)
      return usage === before.usage ? before : { ...before, usage }
    }
  }
}

/** Throws `invalid_input` unless the event is a valid first event. */
export function validateRunStart(event: Event): EventOf<'run:start'> {
  if (!isEvent(event, 'run:start') || event.seq !== 1) {
    throw new TroupeError(
      'invalid_input',
      `the first event of a run must be run:start with seq 1, not ${event.type} with seq ${event.seq}`,
      { hint: 'create a run with its `run:start` event, whose `seq` is 1' },
    )
  }
  for (const name of [event.run_id, event.data.project, event.data.pattern]) {
    if (!name.isWellFormed())
      throw new TroupeError('invalid_input', `the name '${name}' contains a lone surrogate, which cannot be stored`, {
        hint: 'remove it from `run_id`, `project` or `pattern`',
      })
  }
  return event
}

export function sessionRowFromOpen(
  before: SessionRow | undefined,
  event: EventOf<'session:open'>,
  project: string,
): SessionRow {
  const { data, run_id } = event
  return {
    session_id: event.session_id ?? '',
    project,
    run_id,
    parent_session_id: data.parent_session_id,
    agent: data.agent.name,
    depth: data.depth,
    status: 'running',
    stop_reason: null,
    segment: data.segment,
    turn_count: before?.turn_count ?? 0,
    text: before?.text ?? '',
    usage: before?.usage ?? { ...NO_USAGE, calls: 0 },
    holder: run_id,
    cache_key: data.cache_key ?? null,
    opened_at: before?.opened_at ?? event.at,
    ended_at: null,
  }
}

export function sessionRowFromEnd(before: SessionRow, event: EventOf<'session:end'>): SessionRow {
  const { status, stop_reason, text, turn_count, usage } = event.data
  return { ...before, status, stop_reason, text, turn_count, usage, holder: null, ended_at: event.at }
}

export function gateRowFromOpen(event: EventOf<'gate:open'>, project: string): GateRow {
  return {
    ...event.data,
    project,
    run_id: event.run_id,
    session_id: event.session_id ?? null,
    opened_at: event.at,
    answered_at: null,
    answer: null,
  }
}

/** The writes that a store provides for sessions, gates and artifacts. */
export interface ProjectionRows {
  openSession(event: EventOf<'session:open'>): void
  endSession(event: EventOf<'session:end'>): void
  openGate(event: EventOf<'gate:open'>): void
  answerGate(event: EventOf<'gate:answer'>): void
  putArtifact(event: EventOf<'artifact:write'>): void
}

/** Applies an event to sessions, gates and artifacts. */
export function projectEvent(event: Event, rows: ProjectionRows): void {
  switch (event.type) {
    case 'session:open':
      rows.openSession(event)
      return
    case 'session:end':
      rows.endSession(event)
      return
    case 'gate:open':
      rows.openGate(event)
      return
    case 'gate:answer':
      rows.answerGate(event)
      return
    case 'artifact:write':
      rows.putArtifact(event)
      return
    default:
  }
}
