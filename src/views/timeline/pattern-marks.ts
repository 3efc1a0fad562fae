import type { Event, EventOf, PatternEventType } from '../../kernel/event.ts'
import { contentText } from '../content-text.ts'
import { plainLine } from '../plain-line.ts'
import type { PatternState } from '../run-view.ts'
import type { AgentIdentifier } from '../session-file/pattern-session-file.ts'
import { agentLanes, laneOfAgent } from './lane-rows.ts'
import { callPatternView } from './pattern-labels.ts'
import { rowText, rowTitle } from './row-text.ts'
import { endPhase } from './run-rows.ts'
import { unblockSession } from './session-rows.ts'
import type { TimelineLink } from './timeline.ts'
import type { TimelineMark } from './timeline-mark.ts'
import type { SessionEntry, TimelineState } from './timeline-state.ts'
import { addMessage, addNotice, addRow, endSpan, firstRowId, markChanged, openSpan } from './timeline-state.ts'

/* What patterns tell about their events. */

export function reducePatternEvent(state: TimelineState, event: EventOf<PatternEventType>): void {
  const owners = state.patterns.filter(({ events }) => events.has(event.type))
  if (owners.length === 0) noticeUnknownType(state, event)
  for (const owner of owners) {
    const marks = callPatternView(state, owner, () => {
      owner.state = owner.view.reduce(owner.state, event)
      return patternMarks(owner, event)
    })
    for (const mark of marks ?? [])
      applyMark(state, event, { mark, isOwn: owner.name === state.run.pattern, marks: marks ?? [] })
  }
}

function noticeUnknownType(state: TimelineState, event: Event): void {
  if (state.notices.noticed.has(event.type) || state.sources.eventTypes?.has(event.type)) return
  state.notices.noticed.add(event.type)
  const text = `Event type "${rowTitle(state, event.type)}" is not known to this version; shown as JSON.`
  addNotice(state, event, { kind: 'unknown_event', text })
}

/** The marks of an event. The messages and phases of session files are marks, too, unless the view has other words for them. */
function patternMarks({ view, state }: PatternState, event: EventOf<PatternEventType>): TimelineMark[] {
  const marks = [...(view.timeline?.(state, event) ?? [])]
  const { sessionFile } = view
  const message = marks.some(({ kind }) => kind === 'message') ? undefined : sessionFile?.message?.(event)
  const phase = marks.some(({ kind }) => kind === 'phase') ? undefined : sessionFile?.phase?.(event)
  if (phase) marks.push({ kind: 'phase', title: phase.description })
  if (!message) return marks
  const { from_agent, to_agent, message_type, content } = message
  const ends = { from: agentName(from_agent), to: agentName(to_agent) }
  return [...marks, { kind: 'message', ...ends, type: message_type, text: contentText(content) }]
}

/** A person is nobody on a timeline. */
function agentName({ agent_id, agent_type, instance_id }: AgentIdentifier): string | null {
  if (agent_type === 'user') return null
  return instance_id === undefined ? agent_id : agent_type
}

interface MarkContext {
  mark: TimelineMark
  /** The pattern is that of the run. */
  isOwn: boolean
  marks: readonly TimelineMark[]
}

function applyMark(state: TimelineState, event: Event, { mark, isOwn, marks }: MarkContext): void {
  switch (mark.kind) {
    case 'handoff':
    case 'consultation':
      addLink(state, event, mark)
      return
    case 'dependency':
      addLink(state, event, { from: null, to: null, ...mark })
      return
    case 'message':
      addPatternMessage(state, event, {
        mark,
        isLinked: marks.some(({ kind }) => kind === 'handoff' || kind === 'consultation'),
      })
      return
    case 'phase':
      if (isOwn) beginPhase(state, event, mark.title)
      return
    case 'progress':
      if (!isOwn) return
      state.current.hasProgress = true
      state.run.progress = { text: rowTitle(state, mark.text), share: mark.share }
      return
    case 'notice': {
      const session = state.index.sessionsByKey.get(mark.session ?? '')?.row.id ?? null
      addNotice(state, event, { kind: mark.notice, text: rowText(state, mark.text), session })
      return
    }
    default:
      markSession(state, event, mark)
  }
}

function beginPhase(state: TimelineState, event: Event, title: string | null): void {
  endPhase(state, event)
  if (title === null) return
  const row = { id: firstRowId(state, 'phases', `phase${event.seq}`), title: rowTitle(state, title) }
  state.current.phase = addRow(state, 'phases', { ...row, ...openSpan(state, event) })
}

type SessionMark = Extract<TimelineMark, { kind: 'session' | 'vote' | 'blocked' | 'unblocked' }>

function markSession(state: TimelineState, event: Event, mark: SessionMark): void {
  const entry = state.index.sessionsByKey.get(mark.session)
  if (mark.kind === 'blocked') {
    if (entry) blockSession(state, event, { entry, text: mark.text })
    return
  }
  if (mark.kind === 'unblocked') {
    if (entry) unblockSession(state, event, entry)
    return
  }
  const labels =
    mark.kind === 'vote'
      ? { vote: { text: rowTitle(state, mark.text), won: mark.won } }
      : {
          ...(mark.title === undefined ? undefined : { title: rowTitle(state, mark.title) }),
          ...(mark.result === undefined ? undefined : { result: rowText(state, plainLine(mark.result)) }),
          ...(mark.group === undefined ? undefined : { group: mark.group }),
        }
  state.index.labels.set(mark.session, { ...state.index.labels.get(mark.session), ...labels })
  if (!entry) return
  Object.assign(entry.row, labels)
  markChanged(state, 'sessions', entry.row)
}

function blockSession(
  state: TimelineState,
  event: Event,
  { entry, text }: { entry: SessionEntry; text: string },
): void {
  unblockSession(state, event, entry)
  const row = { id: firstRowId(state, 'pauses', `p${event.seq}`), kind: 'blocked' as const, session: entry.row.id }
  entry.blocked = addRow(state, 'pauses', { ...row, text: rowText(state, text), ...openSpan(state, event) })
}

type LinkMark = Extract<TimelineMark, { kind: 'handoff' | 'consultation' }> | LinkEnds
type LinkEnds = {
  kind: 'dependency' | 'message'
  from: string | null
  to: string | null
  from_session?: string
  to_session?: string
  label?: string
}

/** A line between two lanes. That of a handoff ends where the next session of the agent begins. */
function addLink(state: TimelineState, event: Event, mark: LinkMark): TimelineLink {
  const { kind, from, to, label = '' } = mark
  const sender = entryOf(state, mark.from_session, from)
  const receiver =
    kind === 'handoff' ? state.index.sessionsByKey.get(mark.to_session ?? '') : entryOf(state, mark.to_session, to)
  const row: TimelineLink = {
    id: firstRowId(state, 'links', `${kind}:${event.seq}`),
    kind,
    from: sender?.row.lane ?? null,
    to: receiver?.row.lane ?? null,
    from_session: sender?.row.id ?? null,
    to_session: receiver?.row.id ?? null,
    ...{ call: null, group: null, label: rowText(state, label) },
    ...openSpan(state, event),
  }
  const change = (change: Partial<TimelineLink>) => {
    Object.assign(row, change)
    markChanged(state, 'links', row)
  }
  if (row.from === null) row.from = laneOfAgent(state, from, (lane) => change({ from: lane }))
  if (row.to === null) row.to = laneOfAgent(state, to, (lane) => change({ to: lane }))
  if (kind === 'handoff' && to !== null && !receiver) agentLanes(state, to).handoffs.push(row)
  else Object.assign(row, endSpan(state, event))
  return addRow(state, 'links', row)
}

function entryOf(state: TimelineState, key: string | undefined, agent: string | null): SessionEntry | undefined {
  if (key !== undefined) return state.index.sessionsByKey.get(key)
  return agent === null ? undefined : state.index.agents.get(agent)?.newest
}

function addPatternMessage(
  state: TimelineState,
  event: Event,
  { mark, isLinked }: { mark: Extract<TimelineMark, { kind: 'message' }>; isLinked: boolean },
): void {
  const { from, to, type } = mark
  const text = rowText(state, type === 'question' ? mark.text : plainLine(mark.text))
  const sender = entryOf(state, mark.from_session, from)
  const receiver = entryOf(state, mark.to_session, to)
  const ends = { from: sender?.row.lane ?? null, to: receiver?.row.lane ?? null }
  const row = addMessage(state, event, { ...ends, type, text, ref: { kind: 'event', id: String(event.seq) } })
  const change = (change: Partial<typeof row>) => {
    Object.assign(row, change)
    markChanged(state, 'messages', row)
  }
  row.from ??= laneOfAgent(state, from, (lane) => change({ from: lane }))
  row.to ??= laneOfAgent(state, to, (lane) => change({ to: lane }))
  if (!isLinked && from !== null && to !== null) addLink(state, event, { ...mark, kind: 'message', label: type })
}
