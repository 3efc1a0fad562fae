import type { ErrorRecord } from '../../../errors.ts'
import type { ChatEvent, OpenQuestion } from '../../../views/chat-event.ts'
import { briefReason } from '../../../views/team-view.ts'
import { errorLines } from '../render/error-lines.ts'
import { permissionLines } from '../render/permission-question.ts'
import { withRunId } from '../render/result-lines.ts'
import { formatToolInput } from '../render/run-tree.ts'
import type { Look, TextSpan } from '../render/styled-line.ts'
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
export function chatLines(happening: ChatEvent, at: { look: Look; beside: Look; wrapped: boolean }): ChatLines {
  const { look, beside, wrapped } = at
  if (happening.type === 'message') {
    const { agent, text, error, artifacts } = happening
    const messages = text.trim() === '' ? [] : speechLines(agent, text, { look, wrapped, style: 'cyan' })
    const wrote = artifacts.length > 0 ? [renderLine(beside, [['dim', `  ${artifacts.join(', ')}`]])] : []
    const failed =
      error === undefined
        ? []
        : [renderLine(beside, [['red', `  ${toTerminalLine(agent)} failed: ${toTerminalLine(error)}`]])]
    return { messages, notes: [...wrote, ...failed] }
  }
  return { messages: [], notes: noteLines(happening, beside) }
}

/** A speaker and the words, as many lines as they take. */
export function speechLines(
  who: string,
  text: string,
  { look, wrapped, style }: { look: Look; wrapped: boolean; style: 'cyan' | 'green' },
): string[] {
  const name = `${toTerminalLine(who)}: `
  const words = `${name}${stripControlCharacters(text).trim()}`
  const lines = words.split('\n').map((each, index) => (index === 0 || each === '' ? each : `  ${each}`))
  const fitting = wrapped ? lines.flatMap((each) => wrapText(each, look.width, 2)) : lines
  return fitting.map((each, index) =>
    index === 0 && each.startsWith(name) ? look.paint(style, name) + each.slice(name.length) : each,
  )
}

function noteLines(happening: Exclude<ChatEvent, { type: 'message' }>, look: Look): string[] {
  switch (happening.type) {
    case 'run':
      return [renderLine(look, [['dim', `  ${toTerminalLine(happening.team)} · ${happening.run_id}`]])]
    case 'handoff':
      return handoffLines(happening, look)
    case 'turn':
      return [renderLine(look, [['dim', `  ${toTerminalLine(happening.agent)} …`]])]
    case 'group': {
      const { group, members, kind } = happening
      const how = kind === 'parallel' ? 'at once' : 'for one answer'
      return [
        renderLine(look, [['dim', `  ${toTerminalLine(group)}: ${members.map(toTerminalLine).join(', ')} ${how}`]]),
      ]
    }
    case 'loop':
      return warningLines(`${loopLabel(happening.kind)}: ${happening.message}`, look)
    case 'compress': {
      const { messages, error } = happening
      const words =
        error === undefined ? `${messages} older messages are summed up` : `no summary: ${toTerminalLine(error)}`
      return [renderLine(look, [['dim', `  ${words}`]])]
    }
    case 'steered': {
      const { action, by, accepted, reason } = happening
      const words = `${by === 'user' ? '' : `${by}: `}${formatSteerAction(action)}`
      return accepted
        ? [renderLine(look, [['dim', `  taken: ${toTerminalLine(words)}`]])]
        : warningLines(`not taken: ${words}: ${reason}`, look)
    }
    case 'tool':
      return toolLines(happening, look)
    case 'artifact':
      return [
        renderLine(look, [['dim', `  ${toTerminalLine(happening.by)} writes ${toTerminalLine(happening.artifact)}`]]),
      ]
    case 'question':
      return questionLines(happening, look)
    case 'warning':
      return warningLines([happening.agent, happening.message].filter((part) => part !== '').join(': '), look)
    case 'end':
      return endLines(happening, look)
    case 'user':
    case 'answered':
      return []
  }
}

function handoffLines(handoff: Extract<ChatEvent, { type: 'handoff' }>, look: Look): string[] {
  const { from, to, by, reason, problems, within } = handoff
  const beside = problems.flatMap((problem) => warningLines(problem, look))
  // That the user's own words reach whoever had returned goes without saying, and so does the end of the work.
  if (from === 'user' && by === 'after_work') return beside
  const ends = by === 'after_work' && (to === null || to === 'user')
  const whom = toTerminalLine(recipientLabel(to, within !== undefined))
  const words = `  → ${whom}${ends ? '' : `  ${toTerminalLine(briefReason(reason))}`}`
  if (displayWidth(words) > look.width)
    return [...wrapText(words, look.width, 4).map((text) => look.paint('dim', text)), ...beside]
  const spans: TextSpan[] = [
    ['dim', '  → '],
    ['bold', whom],
    ['dim', words.slice(4 + whom.length)],
  ]
  return [renderLine(look, spans), ...beside]
}

function toolLines({ agent, tool, input, error }: Extract<ChatEvent, { type: 'tool' }>, look: Look): string[] {
  if (error !== undefined) return warningLines(`${agent}: ${tool} failed: ${error}`, look)
  return [renderLine(look, [['dim', `  ${toTerminalLine(agent)}: ${toTerminalLine(tool)}  ${formatToolInput(input)}`]])]
}

function questionLines(question: OpenQuestion, look: Look): string[] {
  const { kind, question: text, answers = [], as, call } = question
  if (kind === 'reply') return []
  if (call !== undefined) {
    const [first = '', ...rest] = permissionLines(
      { question: text, detail: { input: question.input, answers } },
      call,
      look,
    )
    return [`${look.paint('yellow', '?')}${first.slice(1)}`, ...rest]
  }
  const head = as === undefined ? '' : `you answer as ${toTerminalLine(as)}: `
  const [first = '', ...rest] = wrapText(
    `  ${head}${stripControlCharacters(text.slice(0, 4000)).trim()}`,
    look.width,
    2,
  )
  const choice = answers.length > 0 ? wrapText(`  ${answers.map(toTerminalLine).join(' · ')}`, look.width, 2) : []
  return [`${look.paint('yellow', '?')}${first.slice(1)}`, ...rest, ...choice.map((words) => look.paint('dim', words))]
}

/** What of it is told where only what matters is: questions, and what went wrong. */
export function isUrgent(happening: ChatEvent): boolean {
  if (happening.type === 'message') return happening.error !== undefined
  if (happening.type === 'end') return happening.error !== null
  if (happening.type === 'steered') return !happening.accepted
  return happening.type === 'question' || happening.type === 'warning'
}

function endLines({ run_id, status, route, error }: Extract<ChatEvent, { type: 'end' }>, look: Look): string[] {
  const inner: Look = { width: look.width - 2, paint: look.paint }
  const way = routeLines(route, inner).map((words) => `  ${words}`)
  if (status === 'completed') return way
  const why = error ? errorLines(withChatHint(error, run_id), look) : [renderLine(look, [['yellow', `  ${status}`]])]
  // With the same limit it would fail again.
  const again = status === 'failed' && error?.code !== 'limit_reached'
  return [...why, ...way, ...(again ? [renderLine(look, [['dim', '  /retry tries again from there']])] : [])]
}

/** Hints are written for commands; who talks wants to go on talking. */
function withChatHint(error: ErrorRecord, run_id: string): ErrorRecord {
  const { hint, ...rest } = withRunId(error, run_id)
  return { ...rest, hint: hint.replaceAll(`troupe resume ${run_id}`, `troupe chat --resume ${run_id} --retry`) }
}

function warningLines(text: string, look: Look): string[] {
  return wrapText(`  ${toTerminalLine(text)}`, look.width, 4).map((words) => look.paint('yellow', words))
}
