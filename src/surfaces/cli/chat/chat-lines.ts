import type { ErrorRecord } from '../../../errors.ts'
import type { ChatEvent, OpenQuestion } from '../../../patterns/team/chat-event.ts'
import { briefReason, formatRoute } from '../../../patterns/team/team-view.ts'
import { loopLabel } from '../../../patterns/team/view.ts'
import { permissionCallFrom } from '../../../views/permission-call.ts'
import { formatSteerAction } from '../../../views/steer-text.ts'
import { displayWidth, stripControlCharacters, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { errorLines } from '../render/error-lines.ts'
import { permissionLines } from '../render/permission-question.ts'
import { withRunId } from '../render/result-lines.ts'
import { formatToolInput } from '../render/run-tree.ts'
import type { TerminalStyle, TextSpan } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'

/*
 * Renders chat events. The speaker starts at column 0, all other lines are indented. Messages are never truncated.
 */

/** Messages go to stdout, notes to stderr. */
export interface ChatLines {
  messages: string[]
  notes: string[]
}

/** `wrapped` is false in a pipe: messages keep their lines. */
export function chatLines(
  chatEvent: ChatEvent,
  { messageStyle, noteStyle, wrapped }: { messageStyle: TerminalStyle; noteStyle: TerminalStyle; wrapped: boolean },
): ChatLines {
  if (chatEvent.type === 'message') {
    const { agent, text, error, artifacts } = chatEvent
    const messages =
      text.trim() === '' ? [] : messageLines(agent, text, { style: messageStyle, wrapped, textStyle: 'cyan' })
    const written = artifacts.length > 0 ? [renderLine(noteStyle, [['dim', `  ${artifacts.join(', ')}`]])] : []
    const failed =
      error === undefined
        ? []
        : [renderLine(noteStyle, [['red', `  ${toTerminalLine(agent)} failed: ${toTerminalLine(error)}`]])]
    return { messages, notes: [...written, ...failed] }
  }
  return { messages: [], notes: noteLines(chatEvent, noteStyle) }
}

/** A message with its speaker. */
export function messageLines(
  speaker: string,
  text: string,
  { style, wrapped, textStyle }: { style: TerminalStyle; wrapped: boolean; textStyle: 'cyan' | 'green' },
): string[] {
  const name = `${toTerminalLine(speaker)}: `
  const message = `${name}${stripControlCharacters(text).trim()}`
  const lines = message.split('\n').map((each, index) => (index === 0 || each === '' ? each : `  ${each}`))
  const fitted = wrapped ? lines.flatMap((each) => wrapText(each, style.width, 2)) : lines
  return fitted.map((each, index) =>
    index === 0 && each.startsWith(name) ? style.paint(textStyle, name) + each.slice(name.length) : each,
  )
}

function noteLines(chatEvent: Exclude<ChatEvent, { type: 'message' }>, style: TerminalStyle): string[] {
  switch (chatEvent.type) {
    case 'run':
      return [renderLine(style, [['dim', `  ${toTerminalLine(chatEvent.team)} · ${chatEvent.run_id}`]])]
    case 'handoff':
      return handoffLines(chatEvent, style)
    case 'turn':
      return [renderLine(style, [['dim', `  ${toTerminalLine(chatEvent.agent)} …`]])]
    case 'group': {
      const { group, members, kind } = chatEvent
      const mode = kind === 'parallel' ? 'in parallel' : 'by consensus'
      return [
        renderLine(style, [['dim', `  ${toTerminalLine(group)}: ${members.map(toTerminalLine).join(', ')} ${mode}`]]),
      ]
    }
    case 'loop':
      return warningLines(`${loopLabel(chatEvent.kind)}: ${chatEvent.message}`, style)
    case 'compress': {
      const { messages, error } = chatEvent
      const text =
        error === undefined ? `summarised ${messages} older messages` : `summary failed: ${toTerminalLine(error)}`
      return [renderLine(style, [['dim', `  ${text}`]])]
    }
    case 'steered': {
      const { action, by, accepted, reason } = chatEvent
      const text = `${by === 'user' ? '' : `${by}: `}${formatSteerAction(action)}`
      return accepted
        ? [renderLine(style, [['dim', `  applied: ${toTerminalLine(text)}`]])]
        : warningLines(`rejected: ${text}: ${reason}`, style)
    }
    case 'tool':
      return toolLines(chatEvent, style)
    case 'artifact':
      return [
        renderLine(style, [['dim', `  ${toTerminalLine(chatEvent.by)} writes ${toTerminalLine(chatEvent.artifact)}`]]),
      ]
    case 'question':
      return questionLines(chatEvent, style)
    case 'warning':
      return warningLines([chatEvent.agent, chatEvent.message].filter((part) => part !== '').join(': '), style)
    case 'end':
      return endLines(chatEvent, style)
    case 'user':
    case 'answered':
      return []
  }
}

/** The recipient of a handoff; a nested team returns to the outer one. */
function recipientLabel(to: string | null, isNested: boolean): string {
  if (to === null) return isNested ? 'back' : 'the end'
  if (to !== 'user') return to
  return isNested ? 'back' : 'you'
}

function handoffLines(handoff: Extract<ChatEvent, { type: 'handoff' }>, style: TerminalStyle): string[] {
  const { from, to, by, reason, problems, within } = handoff
  const warnings = problems.flatMap((problem) => warningLines(problem, style))
  // The user's reply to the agent that returned, and the end of the work, need no reason.
  if (from === 'user' && by === 'after_work') return warnings
  const isEnd = by === 'after_work' && (to === null || to === 'user')
  const recipient = toTerminalLine(recipientLabel(to, within !== undefined))
  const text = `  → ${recipient}${isEnd ? '' : `  ${toTerminalLine(briefReason(reason))}`}`
  if (displayWidth(text) > style.width)
    return [...wrapText(text, style.width, 4).map((line) => style.paint('dim', line)), ...warnings]
  const spans: TextSpan[] = [
    ['dim', '  → '],
    ['bold', recipient],
    ['dim', text.slice(4 + recipient.length)],
  ]
  return [renderLine(style, spans), ...warnings]
}

function toolLines(
  { agent, tool, input, error }: Extract<ChatEvent, { type: 'tool' }>,
  style: TerminalStyle,
): string[] {
  if (error !== undefined) return warningLines(`${agent}: ${tool} failed: ${error}`, style)
  return [
    renderLine(style, [['dim', `  ${toTerminalLine(agent)}: ${toTerminalLine(tool)}  ${formatToolInput(input)}`]]),
  ]
}

function questionLines(question: OpenQuestion, style: TerminalStyle): string[] {
  const { kind, question: text, answers = [], as, call } = question
  if (kind === 'reply') return []
  const permission = permissionCallFrom({
    detail: { permission: call, input: question.input, change: question.change, answers },
  })
  if (permission) {
    const [first = '', ...rest] = permissionLines(text, permission, style)
    return [`${style.paint('yellow', '?')}${first.slice(1)}`, ...rest]
  }
  const prefix = as === undefined ? '' : `you answer as ${toTerminalLine(as)}: `
  const [first = '', ...rest] = wrapText(
    `  ${prefix}${stripControlCharacters(text.slice(0, 4000)).trim()}`,
    style.width,
    2,
  )
  const choices = answers.length > 0 ? wrapText(`  ${answers.map(toTerminalLine).join(' · ')}`, style.width, 2) : []
  return [`${style.paint('yellow', '?')}${first.slice(1)}`, ...rest, ...choices.map((line) => style.paint('dim', line))]
}

/** Whether the event is shown despite `--quiet`: questions and errors. */
export function isUrgent(chatEvent: ChatEvent): boolean {
  if (chatEvent.type === 'message') return chatEvent.error !== undefined
  if (chatEvent.type === 'end') return chatEvent.error !== null
  if (chatEvent.type === 'steered') return !chatEvent.accepted
  return chatEvent.type === 'question' || chatEvent.type === 'warning'
}

function endLines(
  { run_id, status, route, error }: Extract<ChatEvent, { type: 'end' }>,
  style: TerminalStyle,
): string[] {
  const routeText = route.length === 0 ? '' : `  route: ${toTerminalLine(formatRoute(route))}`
  const routeSection = wrapText(routeText, style.width, 4).flatMap((line) =>
    line === '' ? [] : style.paint('dim', line),
  )
  if (status === 'completed') return routeSection
  const cause = error
    ? errorLines(withChatHint(error, run_id), style)
    : [renderLine(style, [['yellow', `  ${status}`]])]
  // A retry with the same limit would fail again.
  const canRetry = status === 'failed' && error?.code !== 'limit_reached'
  return [...cause, ...routeSection, ...(canRetry ? [renderLine(style, [['dim', '  /retry resumes the run']])] : [])]
}

/** Replaces `troupe resume` in hints by the chat equivalent. */
function withChatHint(error: ErrorRecord, run_id: string): ErrorRecord {
  const { hint, ...rest } = withRunId(error, run_id)
  return { ...rest, hint: hint.replaceAll(`troupe resume ${run_id}`, `troupe chat --resume ${run_id} --retry`) }
}

function warningLines(text: string, style: TerminalStyle): string[] {
  return wrapText(`  ${toTerminalLine(text)}`, style.width, 4).map((line) => style.paint('yellow', line))
}
