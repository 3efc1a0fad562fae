import { TroupeError, unknownName } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Ports, SessionPast } from '../kernel/ports.ts'
import type { SessionResult } from '../kernel/session.ts'
import type { SessionRow, Store } from '../store/store.ts'

/** Sessions as the kernel asks for them, read from a store: a session is a chain of segments in run journals. */
export function sessionPorts(
  store: Store,
): Pick<Ports, 'claimSession' | 'readSession' | 'sessionResult' | 'cachedResult'> {
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
      return pastOf(store, await store.claimSession(session_id, run.id))
    },
    async readSession(session_id, base) {
      const row = await store.session(session_id)
      if (!row)
        throw new TroupeError('session_not_resumable', `the session ${session_id} is gone`, { hint: 'delegate anew' })
      return pastOf(store, row, base)
    },
    async sessionResult(session_id, project) {
      const row = await store.session(session_id)
      if (!row || row.project !== project) throw await unknownSession(store, project, session_id)
      return row.ended_at === null ? undefined : resultOf(row)
    },
    async cachedResult(project, cache_key): Promise<SessionResult | undefined> {
      const rows = await store.sessions({ project, cache_key, limit: 10 })
      const row = rows.find(({ status, stop_reason }) => status === 'completed' && stop_reason === 'completed')
      return row && resultOf(row)
    },
  }
}

/** Everything the session said and heard, up to `base` (or to now). */
async function pastOf(store: Store, row: SessionRow, base?: { run_id: string; seq: number }): Promise<SessionPast> {
  const events: Event[] = []
  let last = base
  let segment = 0
  for (const part of row.segments) {
    const isLast = base !== undefined && part.run_id === base.run_id && (part.to === null || part.to >= base.seq)
    const to = isLast ? base.seq : part.to
    const range = { after: part.from - 1, session_id: row.session_id, ...(to === null ? undefined : { to }) }
    const found = await store.events(part.run_id, range)
    events.push(...found)
    const [opening] = found
    segment = isEvent(opening, 'session:open') ? opening.data.segment : segment + 1
    const newest = found.at(-1)
    if (base === undefined && newest) last = { run_id: newest.run_id, seq: newest.seq }
    if (isLast) break
  }
  if (!last || events.length === 0) {
    throw new TroupeError('session_not_resumable', `nothing is kept of the session ${row.session_id}`, {
      hint: 'delegate anew',
    })
  }
  return { session_id: row.session_id, segment, base: last, events: await withOrigin(store, events) }
}

/** A session of a forked run had another id when its first segments were written. */
async function withOrigin(store: Store, events: Event[]): Promise<Event[]> {
  const [first] = events
  const base = isEvent(first, 'session:open') ? first.data.base : undefined
  const row = base?.session_id === undefined ? undefined : await store.session(base.session_id)
  return row && base ? [...(await pastOf(store, row, base)).events, ...events] : events
}

function resultOf(row: SessionRow): SessionResult {
  const { session_id, agent, text, turn_count, usage } = row
  const status = row.status === 'completed' || row.status === 'cancelled' ? row.status : 'failed'
  return { session_id, agent, status, stop_reason: row.stop_reason ?? 'failed', text, turn_count, usage, error: null }
}

async function unknownSession(store: Store, project: string, session_id: string): Promise<TroupeError> {
  const known = (await store.sessions({ project, limit: 200 })).map((row) => row.session_id)
  const error = unknownName('unknown_session', 'session', session_id, known)
  return new TroupeError('unknown_session', error.message, {
    alternatives: error.alternatives.slice(0, 8),
    hint: 'give a full session id, or delegate anew with an agent',
  })
}
