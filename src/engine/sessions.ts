import { TroupeError, unknownName } from '../errors.ts'
import { isEvent } from '../kernel/event.ts'
import type { Ports } from '../kernel/ports.ts'
import type { SessionResult } from '../kernel/session.ts'
import { resultOf as endOf } from '../kernel/session.ts'
import type { SessionRow, Store } from '../store/store.ts'
import { Pasts } from './pasts.ts'
import { recalled } from './recall.ts'

/** Sessions as the kernel asks for them, read from a store: a session is a chain of segments in run journals. */
export function sessionPorts(
  store: Store,
): Pick<
  Ports,
  'claimSession' | 'readSession' | 'sessionResult' | 'cachedResult' | 'artifact' | 'artifacts' | 'recall'
> {
  const pasts = new Pasts(store)
  return {
    async claimSession(session_id, run, agent) {
      const row = await store.session(session_id)
      if (!row || row.project !== run.project) throw await unknownSession(store, run.project, session_id)
      if (agent !== undefined && agent !== row.agent) {
        throw new TroupeError('invalid_input', `the session ${session_id} is one of ${row.agent}, not of ${agent}`, {
          hint: 'leave agent out to resume it, or leave session_id out to start a new session',
          alternatives: [row.agent],
        })
      }
      await store.claimSession(session_id, run.id)
      return pasts.newest(session_id)
    },
    async readSession(session_id, base) {
      const row = await store.session(session_id)
      if (!row)
        throw new TroupeError('session_not_resumable', `the session ${session_id} is gone`, { hint: 'delegate anew' })
      return pasts.upTo(session_id, base)
    },
    async sessionResult(session_id, project) {
      const row = await store.session(session_id)
      if (!row || row.project !== project) throw await unknownSession(store, project, session_id)
      return row.ended_at === null ? undefined : endedAs(store, row)
    },
    artifact: (run_id, name, version) => store.artifact(run_id, name, version),
    async artifacts(run_id) {
      const rows = await store.artifacts(run_id)
      return rows.map(({ name, version, checksum }) => ({ name, version, checksum }))
    },
    async cachedResult(project, cache_key): Promise<SessionResult | undefined> {
      const rows = await store.sessions({ project, cache_key, limit: 10 })
      const row = rows.find(({ status, stop_reason }) => status === 'completed' && stop_reason === 'completed')
      return row && resultOf(row)
    },
    recall: (project, query) => recalled(store, project, query),
  }
}

function resultOf(row: SessionRow): SessionResult {
  const { session_id, agent, text, turn_count, usage } = row
  const status = row.status === 'completed' || row.status === 'cancelled' ? row.status : 'failed'
  return { session_id, agent, status, stop_reason: row.stop_reason ?? 'failed', text, turn_count, usage, error: null }
}

/** How a session ended, with the reason and the object that only its last event holds. */
async function endedAs(store: Store, row: SessionRow): Promise<SessionResult> {
  const [last] = (await store.events(row.run_id, { session_id: row.session_id })).slice(-1)
  return isEvent(last, 'session:end') ? endOf(row.session_id, row.agent, last.data) : resultOf(row)
}

async function unknownSession(store: Store, project: string, session_id: string): Promise<TroupeError> {
  const known = (await store.sessions({ project, limit: 200 })).map((row) => row.session_id)
  const error = unknownName('unknown_session', 'session', session_id, known)
  return new TroupeError('unknown_session', error.message, {
    alternatives: error.alternatives.slice(0, 8),
    hint: 'give a full session id, or delegate anew with an agent',
  })
}
