import { TroupeError, unknownNameError } from '../errors.ts'
import type { RecalledRun, RecallQuery } from '../kernel/context.ts'
import { isEvent } from '../kernel/event.ts'
import type { Ports } from '../kernel/ports.ts'
import type { SessionResult } from '../kernel/session-result.ts'
import { toSessionResult as endOf } from '../kernel/session-result.ts'
import type { SessionRow, Store } from '../store/store.ts'
import { SessionHistoryCache } from './session-history.ts'

/** Sessions as the kernel asks for them, read from a store: a session is a chain of segments in run journals. */
export function sessionPorts(
  store: Store,
): Pick<
  Ports,
  'claimSession' | 'readSession' | 'sessionResult' | 'cachedResult' | 'readArtifact' | 'listArtifacts' | 'recallRuns'
> {
  const pasts = new SessionHistoryCache(store)
  return {
    async claimSession(session_id, run, agent) {
      const row = await store.session(session_id)
      if (!row || row.project !== run.project) throw await sessionNotFoundError(store, run.project, session_id)
      if (agent !== undefined && agent !== row.agent) {
        throw new TroupeError('invalid_input', `the session ${session_id} is one of ${row.agent}, not of ${agent}`, {
          hint: 'leave agent out to resume it, or leave session_id out to start a new session',
          alternatives: [row.agent],
        })
      }
      await store.claimSession(session_id, run.id)
      return pasts.read(session_id)
    },
    async readSession(session_id, base) {
      const row = await store.session(session_id)
      if (!row)
        throw new TroupeError('session_not_resumable', `the session ${session_id} is gone`, { hint: 'delegate anew' })
      return pasts.readUpTo(session_id, base)
    },
    async sessionResult(session_id, project) {
      const row = await store.session(session_id)
      if (!row || row.project !== project) throw await sessionNotFoundError(store, project, session_id)
      return row.ended_at === null ? undefined : readEndedResult(store, row)
    },
    readArtifact: (run_id, name, version) => store.artifact(run_id, name, version),
    async listArtifacts(run_id) {
      const rows = await store.artifacts(run_id)
      return rows.map(({ name, version, checksum }) => ({ name, version, checksum }))
    },
    async cachedResult(project, cache_key): Promise<SessionResult | undefined> {
      const rows = await store.sessions({ project, cache_key, limit: 10 })
      const row = rows.find(({ status, stop_reason }) => status === 'completed' && stop_reason === 'completed')
      return row && resultFromRow(row)
    },
    recallRuns: (project, query) => recallRuns(store, project, query),
  }
}

function resultFromRow(row: SessionRow): SessionResult {
  const { session_id, agent, text, turn_count, usage } = row
  const status = row.status === 'completed' || row.status === 'cancelled' ? row.status : 'failed'
  return { session_id, agent, status, stop_reason: row.stop_reason ?? 'failed', text, turn_count, usage, error: null }
}

/** How a session ended, with the reason and the object that only its last event holds. */
async function readEndedResult(store: Store, row: SessionRow): Promise<SessionResult> {
  const [last] = (await store.events(row.run_id, { session_id: row.session_id })).slice(-1)
  return isEvent(last, 'session:end') ? endOf(row.session_id, row.agent, last.data) : resultFromRow(row)
}

async function sessionNotFoundError(store: Store, project: string, session_id: string): Promise<TroupeError> {
  const known = (await store.sessions({ project, limit: 200 })).map((row) => row.session_id)
  const error = unknownNameError('unknown_session', { kind: 'session', name: session_id, known })
  return new TroupeError('unknown_session', error.message, {
    alternatives: error.alternatives.slice(0, 8),
    hint: 'give a full session id, or delegate anew with an agent',
  })
}

const MAX_RECALLED_RUNS = 1000

/** Completed runs of a pattern with what was asked and what came of it, the newest first. */
async function recallRuns(store: Store, project: string, query: RecallQuery): Promise<RecalledRun[]> {
  const { pattern, run_id, limit = MAX_RECALLED_RUNS } = query
  const rows =
    run_id === undefined
      ? await store.runs({ project, pattern, status: ['completed'], limit: Math.min(limit, MAX_RECALLED_RUNS) })
      : [await store.run(run_id)].filter((row) => row?.project === project && row.pattern === pattern)
  const found: RecalledRun[] = []
  for (const row of rows) {
    if (row?.status !== 'completed') continue
    const [first] = await store.events(row.run_id, { limit: 1 })
    const [last] = await store.events(row.run_id, { after: row.head - 1 })
    if (!isEvent(first, 'run:start') || !isEvent(last, 'run:end')) continue
    found.push({ run_id: row.run_id, input: first.data.input, output: last.data.output })
  }
  return found
}
