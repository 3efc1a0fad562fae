import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { ConnectedTime } from '../kernel/session/lost-model-calls.ts'
import type { World } from '../kernel/world.ts'
import type { Lease } from '../store/store.ts'
import { diedBy } from './held-lease.ts'
import type { PastRequests } from './request-marks.ts'
import { readRequestMarks } from './request-marks.ts'

export interface LostRequestContext {
  lease: Lease
  world: World
  /** The folder with the marks of processes, if the store has one. */
  folder: string | undefined
}

/**
 * Tells how far the requests that a crash left open got: by the marks of the process that began them, or else as if each was sent when
 * it began and was answered until the process ended.
 */
export function lostRequestTimes(
  events: readonly Event[],
  { lease, world, folder }: LostRequestContext,
): (begin: EventOf<'model:begin'>) => ConnectedTime {
  const now = world.now()
  const marks = new Map<string, PastRequests | undefined>()
  const marksOf = (owner: string | undefined) => {
    if (owner === undefined || folder === undefined) return undefined
    if (!marks.has(owner)) marks.set(owner, readRequestMarks(folder, owner, now))
    return marks.get(owner)
  }
  return (begin) => {
    const past = marksOf(ownerAt(events, begin.seq))
    if (!past) return { progress: { sent_at: begin.at, received_chars: 0 }, to: diedBy(lease, now) }
    return { progress: past.progress(begin.run_id, begin.seq), to: past.died_by }
  }
}

/** The owner of the run when an event was appended: an attempt that crashed may have left requests of an earlier one open. */
function ownerAt(events: readonly Event[], seq: number): string | undefined {
  const attempt = events.findLast((event) => event.seq < seq && event.type === 'run:attempt')
  return isEvent(attempt, 'run:attempt') ? attempt.data.owner : undefined
}
