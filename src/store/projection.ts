import { TroupeError } from '../errors.ts'
import type { Event, EventOf, Status, StopReason } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Spend } from '../kernel/spend.ts'
import { addSpend, NO_SPEND } from '../kernel/spend.ts'
import type { GateRow } from './store.ts'

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
