import type { ErrorRecord } from '../../../errors.ts'
import type { ChatEvent, OpenQuestion } from '../../../views/chat-event.ts'
import { briefReason } from '../../../views/team-view.ts'
import { errorLines } from '../render/error-lines.ts'
import { permissionLines } from '../render/permission-question.ts'
import { withRunId } from '../render/result-lines.ts'
import { formatToolInput } from '../render/run-tree.ts'
import type { TerminalStyle, TextSpan } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import { formatSteerAction, loopLabel, recipientLabel, routeLines } from '../render/team-progress.ts'
import { displayWidth, stripControlCharacters, toTerminalLine, wrapText } from '../render/text-width.ts'

/*
 * A conversation in lines. Whoever speaks stands at the beginning of a line, all other lines are indented; what is said is
 * never clipped, and all else fits a line.
 */

/** What was said goes to the results, everything around it beside them. */
export interface ChatLines {
  messages: string[]
  notes: string[]
}

/** `look` is the place of the words, `beside` that of all else; in a pipe the words stay as they are. */
export function chatLines(
  chatEvent: ChatEvent,
  at: { style: TerminalStyle; beside: TerminalStyle; wrapped: boolean },
): ChatLines {
  const { style, beside, wrapped } = at
  if (chatEvent.type === 'message') {
    const { agent, text, error, artifacts } = chatEvent
    const messages = text.trim() === '' ? [] : speechLines(agent, text, { style, wrapped, textStyle: 'cyan' })
    const wrote = artifacts.length > 0 ? [renderLine(beside, [['dim', `  ${artifacts.join(', ')}`]])] : []
    const failed =
      error === undefined
        ? []
        : [renderLine(beside, [['red', `  ${toTerminalLine(agent)} failed: ${toTerminalLine(error)}`]])]
    return { messages, notes: [...wrote, ...failed] }
  }
  return { messages: [], notes: noteLines(chatEvent, beside) }
}

/** A speaker and the words, as many lines as they take. */
export function speechLines(
  who: string,
  text: string,
  { style, wrapped, textStyle }: { style: TerminalStyle; wrapped: boolean; textStyle: 'cyan' | 'green' },
): string[] {
  const name = `${toTerminalLine(who)}: `
  const words = `${name}${stripControlCharacters(text).trim()}`
  const lines = words.split('\n').map((each, index) => (index === 0 || each === '' ? each : `  ${each}`))
  const fitting = wrapped ? lines.flatMap((each) => wrapText(each, style.width, 2)) : lines
  return fitting.map((each, index) =>
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
      const how = kind === 'parallel' ? 'at once' : 'for one answer'
      return [
        renderLine(style, [['dim', `  ${toTerminalLine(group)}: ${members.map(toTerminalLine).join(', ')} ${how}`]]),
      ]
    }
    case 'loop':
      return warningLines(`${loopLabel(chatEvent.kind)}: ${chatEvent.message}`, style)
    case 'compress': {
      const { messages, error } = chatEvent
      const words =
        error === undefined ? `${messages} older messages are summed up` : `no summary: ${toTerminalLine(error)}`
      return [renderLine(style, [['dim', `  ${words}`]])]
    }
    case 'steered': {
      const { action, by, accepted, reason } = chatEvent
      const words = `${by === 'user' ? '' : `${by}: `}${formatSteerAction(action)}`
      return accepted
        ? [renderLine(style, [['dim', `  taken: ${toTerminalLine(words)}`]])]
        : warningLines(`not taken: ${words}: ${reason}`, style)
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

function handoffLines(handoff: Extract<ChatEvent, { type: 'handoff' }>, style: TerminalStyle): string[] {
  const { from, to, by, reason, problems, within } = handoff
  const beside = problems.flatMap((problem) => warningLines(problem, style))
  // That the user's own words reach whoever had returned goes without saying, and so does the end of the work.
  if (from === 'user' && by === 'after_work') return beside
  const ends = by === 'after_work' && (to === null || to === 'user')
  const whom = toTerminalLine(recipientLabel(to, within !== undefined))
  const words = `  → ${whom}${ends ? '' : `  ${toTerminalLine(briefReason(reason))}`}`
  if (displayWidth(words) > style.width)
    return [...wrapText(words, style.width, 4).map((text) => style.paint('dim', text)), ...beside]
  const spans: TextSpan[] = [
    ['dim', '  → '],
    ['bold', whom],
    ['dim', words.slice(4 + whom.length)],
  ]
  return [renderLine(style, spans), ...beside]
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
  if (call !== undefined) {
    const [first = '', ...rest] = permissionLines(
      { question: text, detail: { input: question.input, answers } },
      call,
      style,
    )
    return [`${style.paint('yellow', '?')}${first.slice(1)}`, ...rest]
  }
  const head = as === undefined ? '' : `you answer as ${toTerminalLine(as)}: `
  const [first = '', ...rest] = wrapText(
    `  ${head}${stripControlCharacters(text.slice(0, 4000)).trim()}`,
    style.width,
    2,
  )
  const choice = answers.length > 0 ? wrapText(`  ${answers.map(toTerminalLine).join(' · ')}`, style.width, 2) : []
  return [
    `${style.paint('yellow', '?')}${first.slice(1)}`,
    ...rest,
    ...choice.map((words) => style.paint('dim', words)),
  ]
}

/** What of it is told where only what matters is: questions, and what went wrong. */
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
  const inner: TerminalStyle = { width: style.width - 2, paint: style.paint }
  const way = routeLines(route, inner).map((words) => `  ${words}`)
  if (status === 'completed') return way
  const why = error ? errorLines(withChatHint(error, run_id), style) : [renderLine(style, [['yellow', `  ${status}`]])]
  // With the same limit it would fail again.
  const again = status === 'failed' && error?.code !== 'limit_reached'
  return [...why, ...way, ...(again ? [renderLine(style, [['dim', '  /retry tries again from there']])] : [])]
}

/** Hints are written for commands; who talks wants to go on talking. */
function withChatHint(error: ErrorRecord, run_id: string): ErrorRecord {
  const { hint, ...rest } = withRunId(error, run_id)
  return { ...rest, hint: hint.replaceAll(`troupe resume ${run_id}`, `troupe chat --resume ${run_id} --retry`) }
}

function warningLines(text: string, style: TerminalStyle): string[] {
  return wrapText(`  ${toTerminalLine(text)}`, style.width, 4).map((words) => style.paint('yellow', words))
}
