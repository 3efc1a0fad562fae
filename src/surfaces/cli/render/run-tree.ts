import type { SteerAction } from '../../../kernel/steer-action.ts'
import type { CollaborationViews } from '../../../views/collaboration-view.ts'
import { collaborationSessionPurpose, formatRecommendation, responseText } from '../../../views/collaboration-view.ts'
import { isWaitingForAnswer } from '../../../views/run-reducer.ts'
import type { GateNode, RunNode, RunView, SessionNode, ToolCallNode } from '../../../views/run-view.ts'
import type { TeamView } from '../../../views/team-view.ts'
import { isModelFallback, teamSessionPurpose } from '../../../views/team-view.ts'
import { errorSummary } from './error-lines.ts'
import { formatCount, formatDuration, pluralize } from './format-amount.ts'
import type { TerminalStyle, TextSpan, TextStyle } from './styled-line.ts'
import { renderLine, spansWidth } from './styled-line.ts'
import { formatSteerAction } from './team-progress.ts'
import { toTerminalLine } from './text-width.ts'

export interface TreeOptions {
  style: TerminalStyle
  now: number
  /** Whether someone works on the run: what has no end is then under way, and else was broken off. */
  live: boolean
  /** Show every tool call, not only the last few of each session. */
  all?: boolean
}

const CALLS_SHOWN = 8

export const STATUS_GLYPHS: Record<string, readonly [TextStyle, string]> = {
  completed: ['green', '✓'],
  ok: ['green', '✓'],
  failed: ['red', '✗'],
  cancelled: ['yellow', '■'],
  waiting: ['yellow', '?'],
  running: ['cyan', '●'],
  pending: ['dim', '○'],
}

/** Who worked for whom, on what, for how long and how much. */
export function runTreeLines(view: RunView, options: TreeOptions): string[] {
  const { collaborations, team } = view
  const place = { ...options, collaborations, team, runEnded: view.end !== undefined, first: '', rest: '' }
  return view.children.flatMap((part) => nodeLines(part, place))
}

interface TreeContext extends TreeOptions {
  collaborations: CollaborationViews
  team: TeamView
  /** The run has ended: what is unanswered stays so. */
  runEnded: boolean
  /** What stands before the first line of a part, and before all others. */
  first: string
  rest: string
}

function nodeLines(part: RunNode, place: TreeContext): string[] {
  const inner = collapsedChild(part)
  if (inner) return nodeLines(inner, place)
  const [instead] = part.children
  if (part.kind === 'session' && instead && isModelFallback(place.team, part)) return nodeLines(instead, place)
  const children = shownChildren(part, place.all ?? false)
  const below = part.kind === 'session' && children.length > 0 ? `${place.rest}│ ` : `${place.rest}  `
  const own = ownLines(part, { ...place, rest: below })
  return [
    ...own,
    ...children.flatMap((child, index) => {
      const last = index === children.length - 1
      const next = {
        ...place,
        first: `${place.rest}${last ? '└─ ' : '├─ '}`,
        rest: `${place.rest}${last ? '   ' : '│  '}`,
      }
      return typeof child === 'string'
        ? [renderLine(place.style, [['dim', next.first + child]])]
        : nodeLines(child, next)
    }),
  ]
}

/** The session that a delegation opened, or the question that a call asked, says it all. */
function collapsedChild(part: RunNode): RunNode | undefined {
  if (part.kind !== 'call' || part.children.length !== 1) return undefined
  const [only] = part.children
  return only?.kind === 'call' ? undefined : only
}

function shownChildren(part: RunNode, all: boolean): (RunNode | string)[] {
  const plain = part.children.filter((child) => child.kind === 'call' && child.children.length === 0)
  const hidden = all || plain.length <= CALLS_SHOWN ? [] : plain.slice(0, plain.length - CALLS_SHOWN)
  if (hidden.length === 0) return part.children
  const rest = part.children.filter((child) => !hidden.includes(child))
  return [`${pluralize(hidden.length, 'earlier tool call')} (--all shows them)`, ...rest]
}

function ownLines(part: RunNode, place: TreeContext): string[] {
  switch (part.kind) {
    case 'session':
      return sessionLines(part, place)
    case 'call':
      return toolCallLines(part, place)
    case 'gate':
      return gateLines(part, place)
  }
}

function sessionLines(work: SessionNode, place: TreeContext): string[] {
  const status = sessionStatus(work, place)
  const end = work.ended_at ?? (place.live ? place.now : undefined)
  const facts = [
    ...(status === 'completed' ? [] : [status === 'pending' ? 'broken off' : status]),
    ...(work.stop_reason && work.stop_reason !== work.status ? [work.stop_reason] : []),
    pluralize(work.calls, 'call'),
    `${formatCount(work.tokens)} tokens`,
    ...(end === undefined ? [] : [formatDuration(end - work.started_at)]),
  ]
  const name = work.segment > 1 ? `${toTerminalLine(work.agent)} (continued)` : toTerminalLine(work.agent)
  const lines = headingLines(place, [STATUS_GLYPHS[status] ?? '', ' ', ['bold', name]], facts.join(' · '))
  const part =
    collaborationSessionPurpose(place.collaborations, work.key) ??
    teamSessionPurpose(place.team, work.key) ??
    work.instruction
  if (part) lines.push(detailLine(place, [['dim', toTerminalLine(part)]]))
  if (work.error) lines.push(detailLine(place, [['red', errorSummary(work.error)]]))
  else if (work.text)
    lines.push(detailLine(place, ['→ ', toTerminalLine(sessionResultText(work, place.collaborations))]))
  return lines
}

function sessionResultText({ key, text }: SessionNode, { specialists }: CollaborationViews): string {
  const voice = specialists.get(key)
  return (voice && formatRecommendation(voice)) || responseText(text)
}

function sessionStatus(work: SessionNode, place: TreeContext): string {
  if (work.status !== 'running') return work.status
  if (isWaitingForAnswer(work)) return 'waiting'
  return place.live ? 'running' : 'pending'
}

function toolCallLines(call: ToolCallNode, place: TreeContext): string[] {
  const status = call.status === 'running' && !place.live ? 'pending' : call.status
  const took =
    call.ended_at === null ? (place.live ? 'under way' : 'broken off') : formatDuration(call.ended_at - call.started_at)
  const lines = headingLines(place, [STATUS_GLYPHS[status] ?? '', ' ', toTerminalLine(call.tool)], took)
  if (call.input !== undefined) lines.push(detailLine(place, [['dim', formatToolInput(call.input)]]))
  if (call.error) lines.push(detailLine(place, [['red', errorSummary(call.error)]]))
  return lines
}

function gateLines(asked: GateNode, place: TreeContext): string[] {
  const open = asked.ended_at === null
  const by = asked.asked_by ? `${toTerminalLine(asked.asked_by)} asks a person` : 'a question to a person'
  const unanswered = place.runEnded ? 'not answered' : `open · ${asked.gate_id}`
  const facts = open ? unanswered : `answered by ${asked.answered_by ?? 'someone'}`
  const lines = headingLines(
    place,
    [STATUS_GLYPHS[!open ? 'ok' : place.runEnded ? 'cancelled' : 'waiting'] ?? '', ' ', by],
    facts,
  )
  lines.push(detailLine(place, [['dim', toTerminalLine(asked.question)]]))
  if (!open) lines.push(detailLine(place, ['→ ', formatAnswer(asked.answer)]))
  else if (asked.choices && !place.runEnded)
    lines.push(detailLine(place, [['dim', `one of: ${toTerminalLine(asked.choices.join(', '))}`]]))
  return lines
}

/** A head and its facts on one line, or on two where one is too narrow. */
function headingLines(place: TreeContext, head: readonly TextSpan[], facts: string): string[] {
  const { style, first } = place
  const spans: TextSpan[] = [['dim', first], ...head]
  const both: TextSpan[] = [...spans, '  ', ['dim', facts]]
  if (spansWidth(both) <= style.width) return [renderLine(style, both)]
  return [renderLine(style, spans), detailLine(place, [['dim', facts]])]
}

function detailLine({ style, rest }: TreeContext, spans: readonly TextSpan[]): string {
  return renderLine(style, [['dim', rest], ...spans])
}

/** What a tool was called with, short: the values alone where there is only one. */
export function formatToolInput(input: unknown): string {
  if (typeof input !== 'object' || input === null) return toTerminalLine(String(input))
  const entries = Object.entries(input)
  const [only] = entries
  if (entries.length === 1 && only && typeof only[1] === 'string') return toTerminalLine(only[1])
  return toTerminalLine(JSON.stringify(input))
}

export function formatAnswer(answer: unknown): string {
  // What people ask of a team may answer what it waits for.
  if (typeof answer === 'object' && answer !== null && 'do' in answer)
    return toTerminalLine(formatSteerAction(answer as SteerAction))
  return toTerminalLine(typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? ''))
}
