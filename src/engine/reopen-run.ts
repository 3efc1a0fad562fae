import { errorFromRecord, TroupeError } from '../errors.ts'
import type { Event, EventDataOf, RunEnd } from '../kernel/event.ts'
import { withoutCut } from '../kernel/journal/cut.ts'
import type { RecordedSteps } from '../kernel/journal/dependent-steps.ts'
import type { Journal } from '../kernel/journal/journal.ts'
import { JournalIndex } from '../kernel/journal/journal-index.ts'
import { ancestorKeys } from '../kernel/journal/step-key.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { foldRun } from '../run-model/reduce-run.ts'
import type { Store } from '../store/store.ts'
import type { ReopenOptions } from './engine.ts'
import { failedDescendants } from './failed-descendants.ts'
import type { RunHistory } from './run-history.ts'
import { isIncomplete } from './run-history.ts'

interface ReopenScope {
  store: Pick<Store, 'session'>
  journal: Journal
  pattern: Pattern
}

/**
 * Appends `run:reopen` for a failed or incomplete run. Throws `run_ended`, `quarantined` or `session_not_resumable` if the run cannot be
 * resumed; nothing is written then.
 */
export async function reopenRun(
  { store, journal, pattern }: ReopenScope,
  { events, history }: { events: readonly Event[]; history: RunHistory },
  reopen: ReopenOptions,
): Promise<Event> {
  const { recorded, oldRetry } = new JournalIndex(events, pattern.renamedKeys)
  const cut = oldRetry ? replacedSteps(recorded, oldRetry) : []
  const data = {
    ...reopenData(journal.run_id, { events, history }, reopen),
    ...(cut.length > 0 ? { cut } : undefined),
  }
  const last = events.at(-1)
  const position = { run_id: journal.run_id, seq: (last?.seq ?? 0) + 1, at: last?.at ?? 0 }
  const preview = new JournalIndex([...events, { ...position, type: 'run:reopen', data }], pattern.renamedKeys)
  for (const session_id of preview.openSessions().keys()) await requireNewestSegment(store, journal.run_id, session_id)
  return journal.append('run:reopen', data)
}

/**
 * The steps that an older version has worked out anew under other keys, after it had retried what they depend on. The code finds them, but must not
 * mix them with what was retried.
 */
function replacedSteps(
  { openings, outcomes }: RecordedSteps,
  { failedAt, reopenedAt }: { failedAt: number; reopenedAt: number },
): string[] {
  const steps = new Map([...outcomes, ...openings])
  const isReplaced = (key: string) => {
    const seq = steps.get(key)?.seq ?? 0
    return seq > failedAt && seq < reopenedAt
  }
  return [...steps].flatMap(([key, began]) => {
    const isCovered = ancestorKeys(key).some((above) => outcomes.has(above) || isReplaced(above))
    return isReplaced(key) && !isCovered ? (began.data as { key: string }).key : []
  })
}

function reopenData(
  run_id: string,
  { events, history: { end, limits } }: { events: readonly Event[]; history: RunHistory },
  reopen: ReopenOptions,
): EventDataOf<'run:reopen'> {
  if (end && end.status !== 'failed' && !isIncomplete(end)) {
    throw new TroupeError('run_ended', `run ${run_id} has ended (${end.status})`, {
      hint: 'start a new run; continue its sessions there with `session_id`',
    })
  }
  if (end?.error?.code === 'quarantined' && !reopen.force) throw errorFromRecord(end.error)
  const [key = null, ...additional_keys] = end ? retriedSteps(events, end) : []
  return {
    key,
    ...(additional_keys.length > 0 ? { additional_keys } : undefined),
    limits: { ...limits, ...reopen.limits },
    ...(reopen.force ? { force: true as const } : undefined),
  }
}

function retriedSteps(events: readonly Event[], end: RunEnd): string[] {
  const { status, error, retry_keys = [] } = end
  const named = [error?.step ?? [], retry_keys].flat()
  const model = foldRun(withoutCut(events))
  return [...new Set([...named, ...failedDescendants({ model, named, isFailed: status === 'failed' })])]
}

/** A session that the run would continue must not have newer turns in another run: its conversation would fork. */
async function requireNewestSegment(store: Pick<Store, 'session'>, run_id: string, session_id: string): Promise<void> {
  const row = await store.session(session_id)
  if (!row || row.run_id === run_id) return
  throw new TroupeError(
    'session_not_resumable',
    `run ${run_id} cannot be resumed: its session ${session_id} went on in run ${row.run_id}, which has the newer turns`,
    {
      hint: `see them with: troupe show ${row.run_id}; continue the session with: troupe run task --continue ${session_id}`,
      alternatives: [row.run_id],
    },
  )
}
