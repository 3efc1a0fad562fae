import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { shortHash } from '../kernel/hash.ts'
import { CutCounts, stepsCutBy } from '../kernel/journal/cut.ts'
import { foldEvents, sessionFrom } from '../kernel/session/session-fold.ts'
import type { SessionState } from '../kernel/session/session-state.ts'
import { applyEvent, inputHash, newSession, sessionId } from '../kernel/session/session-state.ts'
import type { Store } from '../store/store.ts'
import { stepKey } from './journal-diff.ts'
import { readSessionEvents } from './session-history.ts'

/*
 * Session, gate and group ids are derived from the run id. A fork derives them again from its own run id and replaces
 * them everywhere, including in texts that agents have read. Idempotency keys stay: they identify actions already carried out.
 */

/** Maps every id derived from the old run id to the id derived from the new one. */
export function forkIdMap(events: readonly Event[], inherited: number, run_id: string): Map<string, string> {
  const ids = new Map<string, string>()
  const cuts = new CutCounts()
  for (const event of events) {
    cuts.add(stepsCutBy(event))
    const key = cuts.identity(stepKey(event))
    if (isEvent(event, 'session:open')) addSessionId(event, ids, { run_id, key, inherited: event.seq <= inherited })
    if (isEvent(event, 'gate:open')) ids.set(event.data.gate_id, `g_${shortHash(`${run_id}\n${key}`)}`)
    const group = (event as EventOf<'tool:pre'>).data.parallel_group_id
    if (group) ids.set(group, `pg_${shortHash(`${run_id}\n${cuts.identity(turnOf(stepKey(event)))}`)}`)
  }
  const [start] = events
  if (start) ids.set(start.run_id, run_id)
  return ids
}

function turnOf(toolKey: string): string {
  return toolKey.slice(0, toolKey.lastIndexOf('/tool/'))
}

function addSessionId(
  event: EventOf<'session:open'>,
  ids: Map<string, string>,
  target: { run_id: string; key: string; inherited: boolean },
): void {
  const { agent, parent_session_id: parent, segment } = event.data
  const id = event.session_id ?? ''
  // A session of another run that this run continued becomes a session of the fork, but only if the fork inherits it.
  if (ids.has(id) || (segment > 1 && !target.inherited)) return
  const newParent = parent === null ? null : (ids.get(parent) ?? parent)
  ids.set(id, sessionId({ run_id: target.run_id, key: target.key, agent: agent.name, parent: newParent }))
}

/** Replaces the ids in the events and renumbers them from 1. */
export function renameEvents(events: readonly Event[], ids: ReadonlyMap<string, string>, time: number): Event[] {
  // Longest first: an id that is a prefix of another must not match inside it.
  const pattern = new RegExp([...ids.keys()].sort((a, b) => b.length - a.length).join('|'), 'g')
  const replaceIds = (text: string) => text.replace(pattern, (id) => ids.get(id) ?? id)
  const seqs = new Map(events.map((event, index) => [event.seq, index + 1]))
  const run_id = events[0]?.run_id ?? ''
  return events.map((event, index) => {
    const data = JSON.parse(replaceIds(JSON.stringify(event.data)))
    if (isEvent(event, 'session:open') && event.data.base) data.base = renameBase(event, { run_id, ids, seqs })
    return {
      run_id: ids.get(event.run_id) ?? event.run_id,
      seq: index + 1,
      at: time,
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

/** Recomputes the `input_hash` of every model request under the new ids: a stale hash would be reported as drift. */
export async function rehashRequests(events: readonly Event[], store: Store): Promise<Event[]> {
  const sessions = new Map<string, SessionState>()
  const histories = new Map<string, Event[]>()
  const lastRequest = new Map<string, number>()
  for (const event of events) if (isEvent(event, 'model:begin')) lastRequest.set(event.data.key, event.seq)
  const rehashed: Event[] = []
  for (const event of events) {
    const id = event.session_id ?? ''
    const history = histories.get(id) ?? (isEvent(event, 'session:open') ? await readOriginEvents(event, store) : [])
    if (isEvent(event, 'session:open')) sessions.set(id, reopenSession(event, history))
    const session = sessions.get(id)
    const isRequest = session && isEvent(event, 'model:begin') && !event.data.phase
    const input_hash = isRequest ? inputHash(session, event.data.model) : undefined
    const renamed = input_hash === undefined ? event : ({ ...event, data: { ...event.data, input_hash } } as Event)
    const isRepeated = isEvent(event, 'model:end') && (lastRequest.get(event.data.key) ?? 0) > event.seq
    if (session && !isRepeated) applyEvent(session, renamed)
    if (session) history.push(renamed)
    histories.set(id, history)
    rehashed.push(renamed)
  }
  return rehashed
}

/** Reads the earlier segments of a session that began in another run. */
async function readOriginEvents({ data: { base } }: EventOf<'session:open'>, store: Store): Promise<Event[]> {
  if (base?.session_id === undefined) return []
  return readSessionEvents(store, base.session_id, { to: base })
}

/** Folds the history again for each segment, as the kernel does when it resumes a session. */
function reopenSession({ session_id = '', data }: EventOf<'session:open'>, history: readonly Event[]): SessionState {
  return history.length === 0 ? newSession(session_id, data) : sessionFrom(foldEvents(history), session_id, data)
}
