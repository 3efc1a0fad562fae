import type { ErrorRecord } from '../../errors.ts'
import type { Event, EventOf, SessionEnd, SessionOpen } from '../../kernel/event.ts'
import { plainLine } from '../plain-line.ts'
import { parentStepKey } from '../run-reducer.ts'
import { agentLanes, freeLane, sessionOf, takeLane } from './lane-rows.ts'
import { sessionLabels } from './pattern-labels.ts'
import { rowText, rowTitle } from './row-text.ts'
import type { TimelineSession } from './timeline.ts'
import type { CallEntry, SessionEntry, TimelineState } from './timeline-state.ts'
import { addMessage, addRow, endSpan, markChanged, openSpan, rowId } from './timeline-state.ts'
import { endTurn } from './turn-end.ts'

export function reduceSessionOpen(state: TimelineState, event: EventOf<'session:open'>): void {
  const known = sessionOf(state, event)
  // After a crash the same segment is opened again: its bar continues.
  if (known?.row.ended_seq === null && known.row.key === event.data.key) return
  if (known?.row.ended_seq === null) endSessionRow(state, event, { entry: known, status: 'cancelled' })
  addSession(state, event, { session_id: event.session_id ?? '', data: event.data, known })
}

interface NewSession {
  session_id: string
  data: SessionOpen
  /** The newest row of the same session. */
  known: SessionEntry | undefined
}

function addSession(state: TimelineState, event: Event, { session_id, data, known }: NewSession): SessionEntry {
  const { key } = data
  const call = enclosingCall(state, key)
  const parent = state.index.sessions.get(data.parent_session_id ?? '') ?? enclosingSession(state, key)
  const lane = takeLane(state, event.seq, { data, earlier: known?.lane, parent: parent?.row.lane ?? null })
  const row: TimelineSession = {
    id: known ? rowId(state, 'sessions', session_id) : session_id,
    session_id,
    key,
    lane: lane.id,
    parent: parent?.row.id ?? null,
    call: call?.row.id ?? null,
    group: null,
    background: data.background === true,
    title: '',
    status: 'running',
    stop_reason: null,
    result: null,
    vote: null,
    ...openSpan(state, event),
  }
  const entry: SessionEntry = {
    row,
    lane,
    data,
    parent,
    opener: call?.group ?? `pattern:${parent?.row.id ?? ''}`,
    counts: { requests: 0, tokens: 0, turns: known?.counts.turns ?? 0, openGates: 0 },
    isSilent: isSilent(state, call),
    ...{ turn: undefined, instruction: '', link: undefined, blocked: undefined },
  }
  Object.assign(row, state.index.labels.get(key))
  addRow(state, 'sessions', row)
  placeSession(state, event, entry)
  return entry
}

/** Enters a new row into the indexes, its group and its links. */
function placeSession(state: TimelineState, event: Event, entry: SessionEntry): void {
  const { row, parent, data } = entry
  state.index.sessions.set(row.session_id, entry)
  state.index.sessionsByKey.set(row.key, entry)
  state.open.sessions.add(entry)
  const own = agentLanes(state, data.agent.name)
  own.newest = entry
  joinGroup(state, entry)
  if (parent) {
    const ends = { from: parent.row.lane, to: row.lane, from_session: parent.row.id, to_session: row.id }
    const facts = { call: row.call, group: row.group, label: row.title, ...openSpan(state, event) }
    entry.link = addRow(state, 'links', { id: `delegation:${row.id}`, kind: 'delegation', ...ends, ...facts })
    state.current.tasks.opened += 1
  }
  for (const link of own.handoffs.splice(0)) {
    Object.assign(link, { to: row.lane, to_session: row.id, ...endSpan(state, event) })
    markChanged(state, 'links', link)
  }
}

/** Sessions with the same opener that run at the same time are a group. */
function joinGroup(state: TimelineState, { row, opener }: SessionEntry): void {
  const known = state.index.groups.get(opener)
  if (!known || known.running.size === 0) {
    const id = opener.startsWith('pattern:') ? `g${row.seq}` : opener
    state.index.groups.set(opener, { id, running: new Set([row]) })
    return
  }
  for (const each of known.running.size === 1 ? [...known.running, row] : [row]) {
    if (each.group !== null) continue
    each.group = known.id
    markChanged(state, 'sessions', each)
    const link = state.index.sessionsByKey.get(each.key)?.link
    if (link) {
      link.group = known.id
      markChanged(state, 'links', link)
    }
  }
  known.running.add(row)
}

/** A pattern that records messages itself sends those of the sessions that it opens. */
function isSilent({ patterns, run }: TimelineState, call: CallEntry | undefined): boolean {
  const name = call ? call.row.tool : run.pattern
  return patterns.some((pattern) => pattern.name === name && pattern.view.sessionFile?.message !== undefined)
}

/** The first input of a session is its task. */
export function reduceSessionInput(state: TimelineState, event: EventOf<'session:input'>): void {
  const entry = sessionOf(state, event)
  if (entry?.instruction !== '') return
  const texts = event.data.message.content.flatMap((part) => (part.type === 'text' ? part.text : []))
  entry.instruction = texts.join('\n')
  const { row, link } = entry
  const purpose = state.index.labels.get(row.key)?.title ?? sessionLabels(state, entry)?.purpose ?? entry.instruction
  row.title = rowTitle(state, purpose)
  markChanged(state, 'sessions', row)
  if (link) {
    link.label = row.title
    markChanged(state, 'links', link)
  }
  if (entry.isSilent) return
  const text = rowText(state, entry.instruction)
  const ends = { from: entry.parent?.row.lane ?? null, to: row.lane }
  addMessage(state, event, { ...ends, type: 'task_assignment', text, ref: { kind: 'session', id: row.id } })
}

export function reduceSessionEnd(state: TimelineState, event: EventOf<'session:end'>): void {
  const entry = sessionOf(state, event)
  if (!entry || entry.row.ended_seq !== null) return
  const { status, stop_reason, text, error } = event.data
  endSessionRow(state, event, { entry, status, stop_reason, text, error })
  if (entry.isSilent) return
  const { row } = entry
  const ends = { from: row.lane, to: entry.parent?.row.lane ?? null }
  const ref = { kind: 'session', id: row.id } as const
  addMessage(state, event, { ...ends, type: 'task_completion', text: row.result ?? '', ref })
}

interface SessionOutcome {
  entry: SessionEntry
  status: SessionEnd['status']
  stop_reason?: TimelineSession['stop_reason']
  text?: string
  error?: ErrorRecord | null
}

/** Ends a row: by its event, by the end of the run, or because the session opens elsewhere. */
export function endSessionRow(state: TimelineState, event: Event, outcome: SessionOutcome): void {
  const { entry, status, stop_reason = status === 'cancelled' ? 'cancelled' : null, text = '', error = null } = outcome
  const { row } = entry
  if (entry.turn) endTurn(state, event, { turn: entry.turn })
  const end = endSpan(state, event)
  Object.assign(row, { status, stop_reason, ...end })
  const result = state.index.labels.get(row.key)?.result ?? sessionLabels(state, entry, error)?.result
  row.result = rowText(state, result === undefined && error ? error.message : plainLine(result ?? text)) || null
  markChanged(state, 'sessions', row)
  state.index.groups.get(entry.opener)?.running.delete(row)
  freeLane(state, entry)
  state.open.sessions.delete(entry)
  if (entry.link) {
    Object.assign(entry.link, end)
    markChanged(state, 'links', entry.link)
    state.current.tasks.ended += 1
  }
  unblockSession(state, event, entry)
}

export function unblockSession(state: TimelineState, event: Event, entry: SessionEntry): void {
  if (!entry.blocked) return
  Object.assign(entry.blocked, endSpan(state, event))
  markChanged(state, 'pauses', entry.blocked)
  entry.blocked = undefined
}

/** The session of an event, with a row that has not ended: a session that works again has a new one. */
export function liveSession(state: TimelineState, event: Event): SessionEntry | undefined {
  const entry = sessionOf(state, event)
  return entry && reviveSession(state, event, entry)
}

export function reviveSession(state: TimelineState, event: Event, session: SessionEntry): SessionEntry {
  const newest = state.index.sessions.get(session.row.session_id) ?? session
  const { row, data, instruction } = newest
  if (row.ended_seq === null) return newest
  const entry = addSession(state, event, { session_id: row.session_id, data, known: newest })
  entry.instruction = instruction
  entry.row.title = row.title
  if (entry.link) entry.link.label = row.title
  return entry
}

/** The call that contains this key. */
export function enclosingCall({ index }: TimelineState, key: string): CallEntry | undefined {
  for (let path = parentStepKey(key); path !== ''; path = parentStepKey(path)) {
    const call = index.calls.get(path)
    if (call) return call
  }
  return undefined
}

export function enclosingSession({ index }: TimelineState, key: string): SessionEntry | undefined {
  for (let path = parentStepKey(key); path !== ''; path = parentStepKey(path)) {
    const session = index.sessionsByKey.get(path)
    if (session) return session
  }
  return undefined
}
