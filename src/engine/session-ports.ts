import { TroupeError } from '../errors.ts'
import type { RecalledRun, RecallQuery } from '../kernel/context.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { cutTest } from '../kernel/journal/cut.ts'
import type { HistoryPorts, RunInfo, SessionHistory } from '../kernel/ports.ts'
import type { SessionResult } from '../kernel/session-result.ts'
import { toSessionResult } from '../kernel/session-result.ts'
import { unknownSessionError } from '../store/preconditions.ts'
import type { SessionRow, Store } from '../store/store.ts'
import { selectColumns } from '../store/tables/checked-query.ts'
import { SessionHistoryCache } from './session-history.ts'

/** The session ports of the kernel, backed by a store. A session is a chain of segments in the journals of runs. */
export function sessionPorts(store: Store): HistoryPorts {
  const histories = new SessionHistoryCache(store)
  return {
    async claimSession(session_id, run, agent) {
      const newest = await store.claimSession(session_id, { run_id: run.id, agent })
      return withoutCutSegments(histories, store, await histories.read(session_id, newest))
    },
    requireVisibleSession: (session_id, run) => requireVisibleSession(store, session_id, run),
    onCommitted: (events) => histories.recordCommitted(events),
    async readSession(session_id, base) {
      if (await store.session(session_id)) return histories.readUpTo(session_id, base)
      throw new TroupeError('session_not_resumable', `session ${session_id} is not in the store`, {
        hint: 'start a new session',
      })
    },
    async sessionResult(session_id, project) {
      const row = await requireSession(store, project, session_id)
      return row.ended_at === null ? undefined : readEndedResult(store, row)
    },
    readArtifact: (run_id, name, version) => store.artifact(run_id, name, version),
    async listArtifacts(run_id) {
      const rows = await store.artifacts(run_id)
      return rows.map(({ name, version, checksum, size, by }) => ({ name, version, checksum, size, by }))
    },
    cachedResult: (project, cache_key, model) => findCachedResult(store, { project, cache_key }, model),
    recallRuns: (project, query) => recallRuns(store, project, query),
    async queryTable({ id, project }, query) {
      const rows = await store.queryTable({ project, run_id: id }, query)
      return rows.map(({ row }) => selectColumns(row, query.columns))
    },
  }
}

/** The history before the segments that were cut. Throws `session_not_resumable` with the replacement of a session of which nothing is left. */
async function withoutCutSegments(
  histories: SessionHistoryCache,
  store: Store,
  newest: SessionHistory,
): Promise<SessionHistory> {
  const { session_id } = newest
  let history = newest
  for (;;) {
    const { fold, base: end } = history
    const opening = fold.lastOpening
    const isCut = cutTest(await store.eventsOfRuns([end.run_id], ['run:reopen', 'run:cut']))
    if (!opening || !isCut(opening.key, end.seq))
      return history === newest ? newest : { ...history, segment: newest.segment }
    if (!opening.base) throw await replacedSessionError(store, { session_id, key: opening.key, run_id: end.run_id })
    history = await histories.readUpTo(opening.base.session_id ?? session_id, opening.base)
  }
}

async function replacedSessionError(
  store: Store,
  { session_id, key, run_id }: { session_id: string; key: string; run_id: string },
): Promise<TroupeError> {
  const opened = await store.eventsOfRuns([run_id], ['session:open'])
  const last = opened.findLast((event) => isEvent(event, 'session:open') && event.data.key === key)?.session_id
  const replaced = last === undefined || last === session_id ? [] : [last]
  const message = `the work of session ${session_id} was done anew when run ${run_id} was resumed`
  const instead = replaced.map((each) => `continue ${each}`)
  const hint = `${[...instead, `see it with: troupe show ${run_id}`].join(', or ')}`
  return new TroupeError('session_not_resumable', message, { hint, alternatives: replaced })
}

async function findCachedResult(
  store: Store,
  filter: { project: string; cache_key: string },
  model: string | undefined,
): Promise<SessionResult | undefined> {
  for (const row of await store.sessions({ ...filter, limit: 10 })) {
    if (row.status !== 'completed' || row.stop_reason !== 'completed') continue
    const events = await store.events(row.run_id, { session_id: row.session_id })
    const begin = events.findLast((event) => isEvent(event, 'model:begin'))
    if (!begin || begin.data.model === model) return endedResult(row, events)
  }
  return undefined
}

function resultFromRow(row: SessionRow): SessionResult {
  const { session_id, agent, text, turn_count, usage } = row
  const status = row.status === 'completed' || row.status === 'cancelled' ? row.status : 'failed'
  return { session_id, agent, status, stop_reason: row.stop_reason ?? 'failed', text, turn_count, usage, error: null }
}

/** Reads the result from the last event: the row lacks the error and the structured output. */
async function readEndedResult(store: Store, row: SessionRow): Promise<SessionResult> {
  return endedResult(row, await store.events(row.run_id, { session_id: row.session_id }))
}

function endedResult(row: SessionRow, events: readonly Event[]): SessionResult {
  const last = events.at(-1)
  return isEvent(last, 'session:end') ? toSessionResult(row.session_id, row.agent, last.data) : resultFromRow(row)
}

async function requireSession(store: Store, project: string, session_id: string): Promise<SessionRow> {
  const row = await store.session(session_id)
  if (row?.project === project) return row
  throw unknownSessionError(session_id, await store.sessions({ project, limit: 200 }))
}

const MAX_ANCESTORS = 100
const MAX_LISTED = 200

/** A run sees its sessions and their descendants, also those in earlier runs: the user may have continued their ancestor. */
async function requireVisibleSession(store: Store, session_id: string, { id, project }: RunInfo): Promise<void> {
  let next: string | null = session_id
  for (let step = 0; next !== null && step < MAX_ANCESTORS; step++) {
    const row: SessionRow | undefined = await store.session(next)
    if (row?.project !== project) break
    if (row.run_id === id || (await store.segments(next)).some(({ run_id }) => run_id === id)) return
    next = row.parent_session_id
  }
  throw unknownSessionError(session_id, await store.sessions({ project, run_id: id, limit: MAX_LISTED }))
}

const MAX_RECALLED_RUNS = 1000

/** Input and output of the completed runs of a pattern, newest first. */
async function recallRuns(store: Store, project: string, query: RecallQuery): Promise<RecalledRun[]> {
  const { pattern, run_id, limit = MAX_RECALLED_RUNS } = query
  const rows =
    run_id === undefined
      ? await store.runs({ project, pattern, status: ['completed'], limit: Math.min(limit, MAX_RECALLED_RUNS) })
      : [await store.run(run_id)].filter((row) => row?.project === project && row.pattern === pattern)
  const recalled: RecalledRun[] = []
  for (const row of rows) {
    if (row?.status !== 'completed') continue
    const [first] = await store.events(row.run_id, { limit: 1 })
    const [last] = await store.events(row.run_id, { after: row.head - 1 })
    if (!isEvent(first, 'run:start') || !isEvent(last, 'run:end')) continue
    recalled.push({ run_id: row.run_id, input: first.data.input, output: last.data.output })
  }
  return recalled
}
