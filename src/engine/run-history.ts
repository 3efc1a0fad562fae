import { TroupeError } from '../errors.ts'
import type { Event, EventOf, RunEnd, RunStart } from '../kernel/event.ts'
import { isEvent, JOURNAL_FORMAT } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { RunMetadata } from '../kernel/run-metadata.ts'
import { NO_METADATA } from '../kernel/run-metadata.ts'

export interface RunHistory {
  start: RunStart
  limits: Limits
  /** The last `run:end`, unless the run was reopened since. */
  end: RunEnd | undefined
}

/** Events that listeners may have missed: a process may die between committing events and delivering them. */
export function undeliveredEvents(events: readonly Event[]): readonly Event[] {
  const last = events.findLastIndex((event) => event.type === 'run:attempt')
  if (last === -1) return events
  const lastType = events.at(-1)?.type
  const isCleanStop = lastType === 'run:park' || lastType === 'run:interrupt' || lastType === 'run:end'
  return isCleanStop ? [] : events.slice(last)
}

/** The data of the first event. Throws `store_corrupt` if it is not `run:start`. */
export function requireRunStart(events: readonly Event[]): RunStart {
  const [first] = events
  if (isEvent(first, 'run:start')) return checkFormat(first)
  if (!first) throw new TroupeError('store_corrupt', 'the journal is empty', { hint: 'check it with: troupe doctor' })
  throw new TroupeError('store_corrupt', `the journal of run ${first.run_id} does not begin with run:start`, {
    hint: `check it with: troupe verify ${first.run_id}`,
  })
}

/** Throws `store_corrupt` if an event is missing: a step without its outcome would be performed again. `head` is the `seq` of the last one. */
export function requireComplete(events: readonly Event[], { run_id, head }: { run_id: string; head: number }): void {
  const gap = events.findIndex(({ seq }, index) => seq !== index + 1)
  if (gap === -1 && events.length === head) return
  const missing = gap === -1 ? Math.min(events.length, head) + 1 : gap + 1
  throw new TroupeError(
    'store_corrupt',
    `the journal of run ${run_id} is damaged: event ${missing} of ${head} is missing; nothing was executed`,
    { hint: `restore a backup of the store; find all damage with: troupe verify ${run_id}` },
  )
}

/** A journal of another format may have other fields and step keys: executing it could repeat its actions. */
function checkFormat({ run_id, data }: EventOf<'run:start'>): RunStart {
  const format: number = data.format
  if (format === JOURNAL_FORMAT) return data
  const [code, hint] =
    format > JOURNAL_FORMAT
      ? (['store_newer', 'update troupe'] as const)
      : (['store_older', 'execute it with the version of troupe that recorded it'] as const)
  const message = `run ${run_id} has journal format ${format}; this version of troupe supports format ${JOURNAL_FORMAT}`
  throw new TroupeError(code, message, { hint })
}

/** The start of a run, the limits in force, and its end. */
export function runHistoryFrom(events: readonly Event[]): RunHistory {
  const start = requireRunStart(events)
  let { limits } = start
  let end: RunEnd | undefined
  for (const event of events) {
    if (isEvent(event, 'run:end')) end = event.data
    if (!isEvent(event, 'run:reopen')) continue
    limits = event.data.limits
    end = undefined
  }
  return { start, limits, end }
}

/** Throws if a run is resumed in another workspace: its agents were given access to the first one only. */
export function assertSameWorkspace(original: string | undefined, current: string | undefined): void {
  if (original === undefined || current === undefined || original === current) return
  throw new TroupeError('invalid_input', `the workspace of the run is ${original}, not ${current}`, {
    hint: `resume it with --workspace ${original}`,
  })
}

/** The metadata that `run:start` recorded. Frozen: all tools of the run share it. */
export function runMetadataFrom({ tags, context }: Partial<RunMetadata>): RunMetadata {
  return tags || context ? deepFreeze({ tags: tags ?? [], context: context ?? {} }) : NO_METADATA
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}

/** A run that completed without work that failed for a reason outside of it, such as one specialist of several. */
export function isIncomplete({ status, retry_keys = [] }: Pick<RunEnd, 'status' | 'retry_keys'>): boolean {
  return status === 'completed' && retry_keys.length > 0
}
