import type { SteerAction } from '../../../index.ts'
import { errorSummary, responseText } from '../../../views/content-text.ts'
import { formatCount, formatDuration, pluralize } from '../../../views/format-amount.ts'
import { sessionLabel } from '../../../views/pattern-views.ts'
import type { GateNode, RunNode, RunView, SessionNode, ToolCallNode } from '../../../views/run-view.ts'
import { isEarlierAttempt } from '../../../views/run-view.ts'
import { formatSteerAction } from '../../../views/steer-text.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import { toolInputText } from '../../../views/tool-input.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { renderLine, spansWidth } from './styled-line.ts'

export interface TreeOptions {
  style: TerminalStyle
  now: number
  /** Whether a process is running it; otherwise unfinished nodes were interrupted. */
  live: boolean
  /** Show every tool call, not only the last few of each session. */
  all?: boolean
}

const CALLS_SHOWN = 8

/** A run as a tree of sessions, tool calls and gates. */
export function runTreeLines(view: RunView, options: TreeOptions): string[] {
  const context = { ...options, view, runEnded: view.end !== undefined, first: '', rest: '' }
  return view.children.flatMap((node) => nodeLines(node, context))
}

interface TreeContext extends TreeOptions {
  view: RunView
  /** Open gates of an ended run are shown as not answered. */
  runEnded: boolean
  /** Prefix of the first line of a node, and of its other lines. */
  first: string
  rest: string
}

function nodeLines(node: RunNode, context: TreeContext): string[] {
  const inner = collapsedChild(node)
  if (inner) return nodeLines(inner, context)
  const [fallback] = node.children
  if (node.kind === 'session' && fallback && sessionLabel(context.view, node)?.replaced)
    return nodeLines(fallback, context)
  const children = shownChildren(node, context.all ?? false)
  const ownPrefix = node.kind === 'session' && children.length > 0 ? `${context.rest}│ ` : `${context.rest}  `
  const own = ownLines(node, { ...context, rest: ownPrefix })
  return [
    ...own,
    ...children.flatMap((child, index) => {
      const isLast = index === children.length - 1
      const next = {
        ...context,
        first: `${context.rest}${isLast ? '└─ ' : '├─ '}`,
        rest: `${context.rest}${isLast ? '   ' : '│  '}`,
      }
      return typeof child === 'string'
        ? [renderLine(context.style, [['dim', next.first + child]])]
        : nodeLines(child, next)
    }),
  ]
}

/** The session of a delegation or the gate of a call, shown instead of the tool call. */
function collapsedChild(node: RunNode): RunNode | undefined {
  if (node.kind !== 'call' || node.children.length !== 1) return undefined
  const [only] = node.children
  return only?.kind === 'call' ? undefined : only
}

function shownChildren(node: RunNode, all: boolean): (RunNode | string)[] {
  const simpleCalls = node.children.filter((child) => child.kind === 'call' && child.children.length === 0)
  const hidden = all || simpleCalls.length <= CALLS_SHOWN ? [] : simpleCalls.slice(0, simpleCalls.length - CALLS_SHOWN)
  if (hidden.length === 0) return node.children
  const rest = node.children.filter((child) => !hidden.includes(child))
  return [`${pluralize(hidden.length, 'earlier tool call')} (show with --all)`, ...rest]
}

function ownLines(node: RunNode, context: TreeContext): string[] {
  switch (node.kind) {
    case 'session':
      return sessionLines(node, context)
    case 'call':
      return toolCallLines(node, context)
    case 'gate':
      return gateLines(node, context)
  }
}

function sessionLines(session: SessionNode, context: TreeContext): string[] {
  const status = sessionStatus(session, context)
  const end = session.ended_at ?? (context.live ? context.now : undefined)
  const facts = [
    ...(isEarlierAttempt(context.view, session) ? ['earlier attempt'] : []),
    ...(status === 'completed' ? [] : [status === 'pending' ? 'interrupted' : status]),
    ...(session.stop_reason && session.stop_reason !== session.status ? [session.stop_reason] : []),
    pluralize(session.calls, 'call'),
    `${formatCount(session.tokens)} tokens`,
    ...(end === undefined ? [] : [formatDuration(end - session.started_at)]),
  ]
  const name = session.segment > 1 ? `${toTerminalLine(session.agent)} (continued)` : toTerminalLine(session.agent)
  const lines = headingLines(context, [STATUS_GLYPHS[status] ?? '', ' ', ['bold', name]], facts.join(' · '))
  const label = sessionLabel(context.view, session)
  const purpose = label?.purpose ?? session.instruction
  if (purpose) lines.push(detailLine(context, [['dim', toTerminalLine(purpose)]]))
  if (session.error) lines.push(detailLine(context, [['red', errorSummary(session.error)]]))
  else if (session.text)
    lines.push(detailLine(context, ['→ ', toTerminalLine(label?.result ?? responseText(session.text))]))
  return lines
}

function sessionStatus(session: SessionNode, context: TreeContext): string {
  if (session.status !== 'running') return session.status
  if (isWaitingForAnswer(session)) return 'waiting'
  return context.live ? 'running' : 'pending'
}

/** Whether this node or one below it waits for a human answer. */
function isWaitingForAnswer(node: RunNode): boolean {
  return node.kind === 'gate' ? node.ended_at === null : node.children.some(isWaitingForAnswer)
}

function toolCallLines(call: ToolCallNode, context: TreeContext): string[] {
  const status = call.status === 'running' && !context.live ? 'pending' : call.status
  const duration =
    call.ended_at === null
      ? context.live
        ? 'running'
        : 'interrupted'
      : formatDuration(call.ended_at - call.started_at)
  const lines = headingLines(context, [STATUS_GLYPHS[status] ?? '', ' ', toTerminalLine(call.tool)], duration)
  if (call.input !== undefined) lines.push(detailLine(context, [['dim', formatToolInput(call.input)]]))
  if (call.error) lines.push(detailLine(context, [['red', errorSummary(call.error)]]))
  return lines
}

function gateLines(gate: GateNode, context: TreeContext): string[] {
  const isOpen = gate.ended_at === null
  const sender = gate.asked_by ? `${toTerminalLine(gate.asked_by)} asks a person` : 'question to a person'
  const unanswered = context.runEnded ? 'not answered' : `open · ${gate.gate_id}`
  const facts = isOpen ? unanswered : `answered by ${gate.answered_by ?? 'unknown'}`
  const lines = headingLines(
    context,
    [STATUS_GLYPHS[!isOpen ? 'ok' : context.runEnded ? 'cancelled' : 'waiting'] ?? '', ' ', sender],
    facts,
  )
  lines.push(detailLine(context, [['dim', toTerminalLine(gate.question)]]))
  if (!isOpen) lines.push(detailLine(context, ['→ ', formatAnswer(gate.answer)]))
  else if (gate.choices && !context.runEnded)
    lines.push(detailLine(context, [['dim', `one of: ${toTerminalLine(gate.choices.join(', '))}`]]))
  return lines
}

/** Title and facts on one line, or on two when they do not fit. */
function headingLines(context: TreeContext, title: readonly TextSpan[], facts: string): string[] {
  const { style, first } = context
  const spans: TextSpan[] = [['dim', first], ...title]
  const withFacts: TextSpan[] = [...spans, '  ', ['dim', facts]]
  if (spansWidth(withFacts) <= style.width) return [renderLine(style, withFacts)]
  return [renderLine(style, spans), detailLine(context, [['dim', facts]])]
}

function detailLine({ style, rest }: TreeContext, spans: readonly TextSpan[]): string {
  return renderLine(style, [['dim', rest], ...spans])
}

/** Tool input in one line; a single text field is shown without its name. */
export function formatToolInput(input: unknown): string {
  return toTerminalLine(toolInputText(input))
}

export function formatAnswer(answer: unknown): string {
  // A steer action can answer a gate.
  if (typeof answer === 'object' && answer !== null && 'do' in answer)
    return toTerminalLine(formatSteerAction(answer as SteerAction))
  return toTerminalLine(typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? ''))
}
