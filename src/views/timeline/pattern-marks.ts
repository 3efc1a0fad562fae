import type { EventOf, PatternEventType } from '../../kernel/event.ts'
import { agentLanes, laneOfAgent } from '../../run-model/lane-rows.ts'
import { rowText, rowTitle } from '../../run-model/row-text.ts'
import type { TimelineLink } from '../../run-model/rows.ts'
import type { PatternState, RunModel } from '../../run-model/run-model.ts'
import { addMessage, addNotice, addRow, changeRow, endSpan, openSpan, rowId } from '../../run-model/run-model.ts'
import { endPhase } from '../../run-model/run-rows.ts'
import { unblockSession } from '../../run-model/session-rows.ts'
import type { SessionNode } from '../../run-model/step-tree.ts'
import { nodeAt } from '../../run-model/step-tree.ts'
import { contentText } from '../content-text.ts'
import type { PatternView } from '../pattern-view.ts'
import { plainLine } from '../plain-line.ts'
import type { AgentIdentifier } from '../session-file/pattern-session-file.ts'
import type { TimelineMark } from './timeline-mark.ts'

/* What patterns tell about their events, as rows. */

type PatternEvent = EventOf<PatternEventType>

/** Reads the marks of an event; returns what adds their rows. */
export function readMarks(model: RunModel, event: PatternEvent, owner: PatternState<PatternView>): () => void {
  const marks = patternMarks(owner, event)
  return () => {
    for (const mark of marks) applyMark(model, event, { mark, isOwn: owner.name === model.run.pattern, marks })
  }
}

/** The marks of an event. The messages and phases of session files are marks, too, unless the view has other words for them. */
export function patternMarks({ view, state }: PatternState<PatternView>, event: PatternEvent): TimelineMark[] {
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

function applyMark(model: RunModel, event: PatternEvent, { mark, isOwn, marks }: MarkContext): void {
  switch (mark.kind) {
    case 'handoff':
    case 'consultation':
      addLink(model, mark)
      return
    case 'dependency':
      addLink(model, { from: null, to: null, ...mark })
      return
    case 'message':
      addPatternMessage(model, event, {
        mark,
        isLinked: marks.some(({ kind }) => kind === 'handoff' || kind === 'consultation'),
      })
      return
    case 'phase':
      if (isOwn) beginPhase(model, mark.title)
      return
    case 'progress':
      if (!isOwn) return
      model.current.hasProgress = true
      model.run.progress = { text: rowTitle(model, mark.text), share: mark.share }
      return
    case 'notice': {
      const session = nodeAt(model, mark.session ?? '', 'session')?.row.id ?? null
      addNotice(model, { kind: mark.notice, text: rowText(model, mark.text), session })
      return
    }
    default:
      markSession(model, mark)
  }
}

function beginPhase(model: RunModel, title: string | null): void {
  endPhase(model)
  if (title === null) return
  const id = rowId(model, 'phases', `phase${model.clock.seq}`)
  model.current.phase = addRow(model, 'phases', { id, title: rowTitle(model, title), ...openSpan(model) })
}

type SessionMark = Extract<TimelineMark, { kind: 'session' | 'vote' | 'blocked' | 'unblocked' }>

function markSession(model: RunModel, mark: SessionMark): void {
  const session = nodeAt(model, mark.session, 'session')
  if (mark.kind === 'blocked') {
    if (session) blockSession(model, session, mark.text)
    return
  }
  if (mark.kind === 'unblocked') {
    if (session) unblockSession(model, session)
    return
  }
  const labels =
    mark.kind === 'vote'
      ? { vote: { text: rowTitle(model, mark.text), won: mark.won } }
      : {
          ...(mark.title === undefined ? undefined : { title: rowTitle(model, mark.title) }),
          ...(mark.result ? { result: rowText(model, plainLine(mark.result)) } : undefined),
          ...(mark.group === undefined ? undefined : { group: mark.group }),
        }
  model.index.labels.set(mark.session, { ...model.index.labels.get(mark.session), ...labels })
  if (session) changeRow(model, session.row, labels)
}

function blockSession(model: RunModel, session: SessionNode, text: string): void {
  unblockSession(model, session)
  const row = { id: rowId(model, 'pauses', `p${model.clock.seq}`), kind: 'blocked' as const, session: session.row.id }
  session.blocked = addRow(model, 'pauses', { ...row, text: rowText(model, text), ...openSpan(model) })
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
function addLink(model: RunModel, mark: LinkMark): void {
  const { kind, from, to, label = '' } = mark
  const sender = sessionAt(model, mark.from_session, from)
  const receiver = sessionAt(model, mark.to_session, kind === 'handoff' ? null : to)
  const row = addRow(model, 'links', {
    ...{ id: rowId(model, 'links', `${kind}:${model.clock.seq}`), kind, from: null, to: null },
    ...{ from_session: sender?.row.id ?? null, to_session: receiver?.row.id ?? null },
    ...{ call: null, group: null, label: rowText(model, label) },
    ...openSpan(model),
  })
  addressRow(model, row, { sender, receiver, from, to })
  if (kind === 'handoff' && to !== null && !receiver) agentLanes(model, to).handoffs.push(row)
  else Object.assign(row, endSpan(model))
}

interface RowEnds {
  sender: SessionNode | undefined
  receiver: SessionNode | undefined
  from: string | null
  to: string | null
}

/** Sets the lanes of a row, now or when the agents get one. */
function addressRow(
  model: RunModel,
  row: Pick<TimelineLink, 'from' | 'to'> & { changed_seq: number },
  { sender, receiver, from, to }: RowEnds,
): void {
  row.from = sender?.row.lane ?? laneOfAgent(model, from, (lane) => changeRow(model, row, { from: lane }))
  row.to = receiver?.row.lane ?? laneOfAgent(model, to, (lane) => changeRow(model, row, { to: lane }))
}

function sessionAt(model: RunModel, key: string | undefined, agent: string | null): SessionNode | undefined {
  if (key !== undefined) return nodeAt(model, key, 'session')
  return agent === null ? undefined : model.index.agents.get(agent)?.newest
}

function addPatternMessage(
  model: RunModel,
  { seq }: PatternEvent,
  { mark, isLinked }: { mark: Extract<TimelineMark, { kind: 'message' }>; isLinked: boolean },
): void {
  const { from, to, type } = mark
  const text = rowText(model, type === 'question' ? mark.text : plainLine(mark.text))
  const sender = sessionAt(model, mark.from_session, from)
  const receiver = sessionAt(model, mark.to_session, to)
  const row = addMessage(model, { from: null, to: null, type, text, ref: { kind: 'event', id: String(seq) } })
  addressRow(model, row, { sender, receiver, from, to })
  if (!isLinked && from !== null && to !== null) addLink(model, { ...mark, kind: 'message', label: type })
}
