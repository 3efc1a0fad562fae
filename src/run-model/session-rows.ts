import type { ErrorRecord } from '../errors.ts'
import type { Event, EventOf, SessionEnd, SessionOpen } from '../kernel/event.ts'
import { agentLanes, freeLane, takeLane } from './lane-rows.ts'
import { usePattern } from './pattern-events.ts'
import { rowText, rowTitle } from './row-text.ts'
import type { ModelRows, TimelineSession } from './rows.ts'
import type { RunModel } from './run-model.ts'
import { addMessage, addRow, changeRow, endSpan, endTurn, openSpan, rowId } from './run-model.ts'
import type { SessionNode, ToolCallNode, WorkReport } from './step-tree.ts'
import { addNode, findEnclosing, nodeAt, parentStepKey } from './step-tree.ts'

/** The session that an event belongs to. */
export function sessionOf(model: RunModel, { session_id, data }: Event): SessionNode | undefined {
  const known = session_id === undefined ? undefined : model.sessions.get(session_id)
  return known ?? ('key' in data && data.key !== null ? findEnclosing(model, data.key, 'session') : undefined)
}

export function reduceSessionOpen(model: RunModel, { session_id = '', data }: EventOf<'session:open'>): void {
  const known = model.sessions.get(session_id)
  if (known?.row.ended_seq === null) {
    // After a crash the same segment is opened again: its bar continues.
    if (known.key === data.key) return
    endSessionRow(model, known, { status: 'cancelled' })
  }
  addSession(model, { session_id, data, known })
}

interface NewSession {
  session_id: string
  data: SessionOpen
  /** The newest segment of the same session. */
  known: SessionNode | undefined
}

function addSession(model: RunModel, { session_id, data, known }: NewSession): SessionNode {
  const { key } = data
  const above = parentStepKey(key)
  const caller = findEnclosing(model, above, 'call')
  const parent = model.sessions.get(data.parent_session_id ?? '') ?? findEnclosing(model, above, 'session')
  const lane = takeLane(model, { data, earlier: known?.lane, parent: parent?.row.lane ?? null })
  const again = known?.key === key ? known : undefined
  const row = addRow(model, 'sessions', {
    id: rowId(model, 'sessions', session_id),
    ...{ session_id, key, lane: lane.id, parent: parent?.row.id ?? null, call: caller?.row.id ?? null },
    ...{ group: null, background: data.background === true, title: again?.row.title ?? '' },
    ...{ status: 'running', stop_reason: null, result: null, vote: null },
    ...openSpan(model),
    ...model.index.labels.get(key),
  })
  const opener = caller?.group ?? `pattern:${parent?.row.id ?? ''}`
  const begin = {
    ...{ row, lane, data, parent, caller, opener, status: 'running' as const, stop_reason: null, error: null },
    ...{ ended_at: null, ended_seq: null, turn: undefined, link: undefined, blocked: undefined },
  }
  const session: SessionNode = again
    ? Object.assign(again, begin)
    : addNode(model, {
        ...{ kind: 'session', key, session_id, agent: data.agent.name, model: data.model ?? null },
        segment: data.segment,
        depth: model.patterns.reduce((depth, { view }) => depth + (view.depth?.(key) ?? 0), data.depth),
        ...{ instruction: '', text: '', calls: 0, tokens: 0, model_call_since: null, sent_to: undefined },
        ...{ opened_seq: model.clock.seq, started_at: model.clock.now, children: [], openGates: 0 },
        ...{ turns: known?.turns ?? 0, responded_seq: 0, failure: undefined, collector: undefined, results: [] },
        isSilent: isSilent(model, caller),
        ...begin,
      })
  model.sessions.set(session_id, session)
  model.open.sessions.add(session)
  linkSession(model, session)
  return session
}

function linkSession(model: RunModel, session: SessionNode): void {
  const { row, parent, data } = session
  const own = agentLanes(model, data.agent.name)
  own.newest = session
  joinGroup(model, session)
  if (parent) {
    const ends = { from: parent.row.lane, to: row.lane, from_session: parent.row.id, to_session: row.id }
    const facts = { call: row.call, group: row.group, label: row.title, ...openSpan(model) }
    session.link = addRow(model, 'links', { id: `delegation:${row.id}`, kind: 'delegation', ...ends, ...facts })
    model.current.tasks.opened += 1
  }
  for (const link of own.handoffs.splice(0))
    changeRow(model, link, { to: row.lane, to_session: row.id, ...endSpan(model) })
}

/** Sessions with the same opener that run at the same time are a group. */
function joinGroup(model: RunModel, { row, opener }: SessionNode): void {
  const known = model.index.groups.get(opener)
  if (!known || known.running.size === 0) {
    const id = opener.startsWith('pattern:') ? `g${row.seq}` : opener
    model.index.groups.set(opener, { id, running: new Set([row]) })
    return
  }
  for (const each of known.running.size === 1 ? [...known.running, row] : [row]) setGroup(model, each, known.id)
  known.running.add(row)
}

function setGroup(model: RunModel, row: ModelRows['sessions'], group: string): void {
  if (row.group !== null) return
  changeRow(model, row, { group })
  const link: ModelRows['links'] | undefined = nodeAt(model, row.key, 'session')?.link
  if (link) changeRow(model, link, { group })
}

/** Keeps what an agent is told about failures, and about background sessions. */
export function addReport(
  model: RunModel,
  session: SessionNode,
  { type, seq, data }: EventOf<'tool:post'> | EventOf<'tool:error'> | EventOf<'session:input'>,
): void {
  const { key, retry_keys = [], collected = [] } = data
  const error = type === 'tool:error' ? data.detail : null
  const report: WorkReport = {
    kind: type === 'session:input' ? 'delivery' : 'call',
    key,
    seq,
    session,
    error,
    retry_keys,
  }
  if (error ?? [...retry_keys, ...collected][0]) model.reports.set(key, report)
  else model.reports.delete(key)
  for (const id of collected) {
    const known = model.sessions.get(id)
    if (known) known.collector = report
  }
}

/** A step that recorded the result of a session. */
export function reduceCollectedResult({ sessions }: RunModel, { data: { key, result } }: EventOf<'step:end'>): void {
  const { session_id } = (result ?? {}) as { session_id?: string }
  if (session_id !== undefined) sessions.get(session_id)?.results.push(key)
}

/** A pattern that records messages itself sends those of the sessions that it opens. */
function isSilent({ patterns, run }: RunModel, caller: ToolCallNode | undefined): boolean {
  const name = caller ? caller.tool : run.pattern
  return patterns.some((pattern) => pattern.name === name && pattern.view.sessionFile?.message !== undefined)
}

/** The first input of a session is its task. */
export function reduceSessionInput(model: RunModel, event: EventOf<'session:input'>): void {
  const session = sessionOf(model, event)
  if (session) addReport(model, session, event)
  if (session?.instruction !== '') return
  const { content } = event.data.message
  session.instruction = content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
  const { row, link, instruction } = session
  const purpose = model.index.labels.get(row.key)?.title ?? sessionLabel(model, session)?.purpose ?? instruction
  changeRow(model, row, { title: rowTitle(model, purpose) })
  if (link) changeRow(model, link, { label: row.title })
  if (session.isSilent) return
  const ends = { from: session.parent?.row.lane ?? null, to: row.lane, ref: { kind: 'session', id: row.id } } as const
  addMessage(model, { ...ends, type: 'task_assignment', text: rowText(model, instruction) })
}

export function reduceSessionEnd(model: RunModel, event: EventOf<'session:end'>): void {
  const session = sessionOf(model, event)
  if (!session) return
  const { status, stop_reason, text, error } = event.data
  Object.assign(session, { status, stop_reason, text, error, ended_at: event.at, ended_seq: event.seq })
  session.model_call_since = null
  const { row } = session
  if (row.ended_seq !== null) return
  endSessionRow(model, session, { status, stop_reason, text, error })
  if (session.isSilent) return
  const ends = { from: row.lane, to: session.parent?.row.lane ?? null, ref: { kind: 'session', id: row.id } } as const
  addMessage(model, { ...ends, type: 'task_completion', text: row.result ?? '' })
}

interface SessionOutcome {
  status: SessionEnd['status']
  stop_reason?: TimelineSession['stop_reason']
  text?: string
  error?: ErrorRecord | null
}

/** Ends a row: by its event, by the end of the run, or because the session opens elsewhere. */
export function endSessionRow(model: RunModel, session: SessionNode, outcome: SessionOutcome): void {
  const { status, stop_reason = status === 'cancelled' ? 'cancelled' : null, text = '', error = null } = outcome
  const { row, link } = session
  if (session.turn) endTurn(model, session.turn)
  const end = endSpan(model)
  const label = sessionLabel(model, { ...session, status, error, ended_at: end.ended_at })
  const result = model.index.labels.get(row.key)?.result ?? label?.result
  const words = result === undefined && error ? error.message : model.sources.words.line(result ?? text)
  changeRow(model, row, { status, stop_reason, ...end, result: rowText(model, words) || null })
  model.index.groups.get(session.opener)?.running.delete(row)
  freeLane(model, session)
  model.open.sessions.delete(session)
  if (link) {
    changeRow(model, link, end)
    model.current.tasks.ended += 1
  }
  unblockSession(model, session)
}

export function unblockSession(model: RunModel, session: SessionNode): void {
  if (session.blocked) changeRow(model, session.blocked, endSpan(model))
  session.blocked = undefined
}

/** The labels that the pattern of a session gives it. */
function sessionLabel(model: RunModel, session: SessionNode): { purpose: string; result?: string } | undefined {
  for (const pattern of [...model.patterns]) {
    const label = usePattern(model, pattern, () => pattern.view.session?.(pattern.state, session))
    if (label) return label
  }
  return undefined
}

/** The session of an event, with a row that has not ended: a session that works again has a new one. */
export function liveSession(model: RunModel, event: Event): SessionNode | undefined {
  const session = sessionOf(model, event)
  return session && reviveSession(model, session)
}

export function reviveSession(model: RunModel, session: SessionNode): SessionNode {
  const newest = model.sessions.get(session.session_id) ?? session
  const { row, data, session_id } = newest
  return row.ended_seq === null ? newest : addSession(model, { session_id, data, known: newest })
}
