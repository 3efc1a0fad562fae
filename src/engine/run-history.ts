import { errorFromRecord, TroupeError } from '../errors.ts'
import type { Event, RunEnd, RunStart } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Journal } from '../kernel/journal/journal.ts'
import type { Limits } from '../kernel/limits.ts'
import type { ReopenOptions } from './engine.ts'

export interface RunHistory {
  start: RunStart
  limits: Limits
  /** How it ended, unless it was taken up again since. */
  end: RunEnd | undefined
}

/** Events that observers may not have been told of: a process that died has committed them and may have said nothing. */
export function undeliveredEvents(events: readonly Event[]): readonly Event[] {
  const last = events.findLastIndex((event) => event.type === 'run:attempt')
  if (last === -1) return events
  const stopped = events.at(-1)?.type
  const inOrder = stopped === 'run:park' || stopped === 'run:interrupt' || stopped === 'run:end'
  return inOrder ? [] : events.slice(last)
}

/** What a journal says its run is: how it started, the limits in force now, and how it ended. */
export function runHistoryFrom(events: readonly Event[]): RunHistory {
  const first = events[0]
  if (!isEvent(first, 'run:start')) {
    throw new TroupeError('store_corrupt', 'the journal does not begin with run:start', {
      hint: 'troupe doctor --run ID',
    })
  }
  let limits = first.data.limits
  let end: RunEnd | undefined
  for (const event of events) {
    if (isEvent(event, 'run:end')) end = event.data
    if (!isEvent(event, 'run:reopen')) continue
    limits = event.data.limits
    end = undefined
  }
  return { start: first.data, limits, end }
}

/** Takes a failed run up again, as an event; throws when it cannot be. */
export function reopenRun(journal: Journal, facts: RunHistory, reopen: ReopenOptions): Event {
  if (facts.end && facts.end.status !== 'failed') {
    throw new TroupeError('run_ended', `the run has ended: ${facts.end.status}`, {
      hint: 'start a new run; its sessions can be resumed there by session_id',
    })
  }
  if (facts.end?.error?.code === 'quarantined' && !reopen.force) throw errorFromRecord(facts.end.error)
  const limits = { ...facts.limits, ...reopen.limits }
  return journal.append('run:reopen', {
    key: facts.end?.error?.step ?? null,
    ...(facts.end?.retry_keys ? { additional_keys: facts.end.retry_keys } : undefined),
    limits,
    ...(reopen.force ? { force: true as const } : undefined),
  })
}

/** A run goes on in the folder that it was started for: its agents were let loose there and nowhere else. */
export function assertSameWorkspace(started: string | undefined, now: string | undefined): void {
  if (started === undefined || now === undefined || started === now) return
  throw new TroupeError('invalid_input', `the run works in ${started}, not in ${now}`, {
    hint: `go on with it there: --workspace ${started}`,
  })
}
