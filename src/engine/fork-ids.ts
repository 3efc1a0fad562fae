import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { shortHash } from '../kernel/hash.ts'
import type { SessionState } from '../kernel/session/session-state.ts'
import { applyEvent, foldSession, inputHash, newSession, sessionId } from '../kernel/session/session-state.ts'
import type { Store } from '../store/store.ts'
import { stepKey } from './journal-diff.ts'
import { sessionPorts } from './session-ports.ts'

/*
 * Ids derive from the run: the events of one run become those of another by deriving them anew, everywhere they stand,
 * also in what agents were told. Idempotency keys stay: they name what was done, once.
 */

/** Every id that derives from the old run, and what it is in the new one. */
export function forkIdMap(events: readonly Event[], inherited: number, run_id: string): Map<string, string> {
  const ids = new Map<string, string>()
  for (const event of events) {
    const key = stepKey(event)
    if (isEvent(event, 'session:open')) addSessionId(event, ids, { run_id, inherited: event.seq <= inherited })
    if (isEvent(event, 'gate:open')) ids.set(event.data.gate_id, `g_${shortHash(`${run_id}\n${key}`)}`)
    const group = (event as EventOf<'tool:pre'>).data.parallel_group_id
    if (group) ids.set(group, `pg_${shortHash(`${run_id}\n${key.slice(0, key.lastIndexOf('/tool/'))}`)}`)
  }
  const [start] = events
  if (start) ids.set(start.run_id, run_id)
  return ids
}

function addSessionId(
  event: EventOf<'session:open'>,
  ids: Map<string, string>,
  to: { run_id: string; inherited: boolean },
): void {
  const { key, agent, parent_session_id: parent, segment } = event.data
  const id = event.session_id ?? ''
  // A session of another run that goes on here goes on in the fork as a session of its own.
  if (ids.has(id) || (segment > 1 && !to.inherited)) return
  ids.set(
    id,
    sessionId({
      run_id: to.run_id,
      key,
      agent: agent.name,
      parent: parent === null ? null : (ids.get(parent) ?? parent),
    }),
  )
}

/** The events under their new ids, numbered from 1. */
export function renameEvents(events: readonly Event[], ids: ReadonlyMap<string, string>, at: number): Event[] {
  const pattern = new RegExp([...ids.keys()].sort((a, b) => b.length - a.length).join('|'), 'g')
  const rename = (text: string) => text.replace(pattern, (id) => ids.get(id) ?? id)
  const seqs = new Map(events.map((event, index) => [event.seq, index + 1]))
  const run_id = events[0]?.run_id ?? ''
  return events.map((event, index) => {
    const data = JSON.parse(rename(JSON.stringify(event.data)))
    if (isEvent(event, 'session:open') && event.data.base) data.base = renameBase(event, { run_id, ids, seqs })
    return {
      run_id: ids.get(event.run_id) ?? event.run_id,
      seq: index + 1,
      at,
      type: event.type,
      ...(event.session_id === undefined ? undefined : { session_id: ids.get(event.session_id) ?? event.session_id }),
      data,
    } as Event
  })
}

interface RenameContext {
  run_id: string
  ids: ReadonlyMap<string, string>
  seqs: ReadonlyMap<number, number>
}

function renameBase({ data, session_id = '' }: EventOf<'session:open'>, { run_id, ids, seqs }: RenameContext) {
  const { base } = data
  if (base?.run_id === run_id) return { run_id: ids.get(run_id) ?? run_id, seq: seqs.get(base.seq) ?? base.seq }
  return base && { ...base, session_id: base.session_id ?? session_id }
}

/** Gives every model call the hash of what it was asked under the new ids: else a fork would seem to have drifted. */
export async function rehashRequests(events: readonly Event[], store: Store): Promise<Event[]> {
  const sessions = new Map<string, SessionState>()
  const pasts = new Map<string, Event[]>()
  const asked = new Map<string, number>()
  for (const event of events) if (isEvent(event, 'model:begin')) asked.set(event.data.key, event.seq)
  const hashed: Event[] = []
  for (const event of events) {
    const id = event.session_id ?? ''
    const past = pasts.get(id) ?? (isEvent(event, 'session:open') ? await readOriginEvents(event, store) : [])
    if (isEvent(event, 'session:open')) sessions.set(id, reopenSession(event, past))
    const session = sessions.get(id)
    const asks = session && isEvent(event, 'model:begin') && !event.data.phase
    const input_hash = asks ? inputHash(session, event.data.model) : undefined
    const own = input_hash === undefined ? event : ({ ...event, data: { ...event.data, input_hash } } as Event)
    const again = isEvent(event, 'model:end') && (asked.get(event.data.key) ?? 0) > event.seq
    if (session && !again) applyEvent(session, own)
    if (session) past.push(own)
    pasts.set(id, past)
    hashed.push(own)
  }
  return hashed
}

/** What a session of another run had said before. */
async function readOriginEvents({ data: { base } }: EventOf<'session:open'>, store: Store): Promise<Event[]> {
  if (base?.session_id === undefined) return []
  return [...(await sessionPorts(store).readSession(base.session_id, base)).events]
}

/** As the kernel takes a session up: each segment folds what was before it anew. */
function reopenSession({ session_id = '', data }: EventOf<'session:open'>, past: readonly Event[]): SessionState {
  return past.length === 0 ? newSession(session_id, data) : foldSession(session_id, data, past)
}
