import type { ErrorRecord } from '../../../errors.ts'
import type { GateRow, RunResult } from '../../../index.ts'
import { formatCount, formatDuration, formatUsd, pluralize } from '../../../views/format-amount.ts'
import { permissionCallFrom } from '../../../views/permission-call.ts'
import { partialText } from '../../../views/result-status.ts'
import type { RunView } from '../../../views/run-view.ts'
import { stripControlCharacters, toTerminalLine, truncateToWidth, wrapText } from '../../../views/text-width.ts'
import { isUndecided } from '../exit-code.ts'
import { commandArguments } from '../program-name.ts'
import { errorLines, labelledLines } from './error-lines.ts'
import { permissionLines } from './permission-question.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { renderLine, withProgramName } from './styled-line.ts'

/** Status, duration and usage in one line. */
export function summaryLine(
  result: RunResult,
  style: TerminalStyle,
  progress: RunView['run']['progress'] = null,
): string {
  const { status, stop_reason, usage } = result
  const isOpen = (status === 'completed' || status === 'partial') && isUndecided(result)
  const [textStyle, glyph] =
    isOpen || result.incomplete ? (['yellow', '◐'] as const) : (STATUS_GLYPHS[status] ?? (['dim', ''] as const))
  const part = status === 'partial' ? partialText(stop_reason, progress) : ''
  const words = [...(isOpen ? ['completed without a decision'] : []), ...(part === '' ? [] : [part])].join(', ')
  const label = status === 'pending' ? 'interrupted' : words || status
  const reason = stop_reason && stop_reason !== status && part === '' ? ` (${stop_reason})` : ''
  const facts = [formatDuration(result.duration_ms), formatUsage(usage), result.run_id]
  const spans: TextSpan[] = [
    [textStyle, `${glyph} ${label}${reason}`],
    ['dim', `  ${facts.join(' · ')}`],
  ]
  return renderLine(style, spans)
}

export function formatUsage({ calls, input, output, usd }: RunResult['usage']): string {
  const cost = usd === null || usd === 0 ? '' : ` · ${formatUsd(usd)}`
  return `${pluralize(calls, 'call')} · ${formatCount(input + output)} tokens${cost}`
}

/** Next steps for a run that has not completed. `canContinue` is false where this process lacks what the run needs. */
export function nextStepLines(result: RunResult, style: TerminalStyle, canContinue = true): string[] {
  const { status, run_id, not_continued } = result
  if (not_continued) return notContinuedLines(not_continued, style)
  if (status === 'waiting') {
    return result.gates.flatMap((gate) => (isReplyGate(gate) ? replyLines(gate, style) : gateLines(gate, style)))
  }
  if (status === 'pending' || status === 'running')
    return canContinue ? commandLines(`resume with: troupe resume ${commandArguments(run_id)}`, style) : []
  if (result.incomplete && canContinue)
    return commandLines(`some requests failed; repeat them with: troupe resume ${commandArguments(run_id)}`, style)
  if (status !== 'failed') return []
  const lines = result.error ? errorLines(withRunId(result.error, run_id), style) : []
  if (result.usage.calls === 0) return lines
  const retry = canContinue ? retryLines(result, style) : []
  return [...lines, ...commandLines(`inspect with: troupe show ${run_id}`, style), ...retry]
}

/** The answer of a process that lacks what the run needs is stored, and the run left to others. */
function notContinuedLines({ message, hint }: ErrorRecord, style: TerminalStyle): string[] {
  return [...wrapText(`stored, but ${message}`, style.width, 2), ...labelledLines('hint', hint, style)]
}

function retryLines({ error, run_id }: RunResult, style: TerminalStyle): string[] {
  if (!error?.retry) return []
  if (error.code === 'limit_reached')
    return commandLines(`raise the limit with: troupe resume ${run_id} --limit NAME=VALUE`, style)
  return commandLines(`retry with: troupe resume ${run_id}`, style)
}

/** Replaces the placeholder RUN in a hint by the run id, so that the command can be copied. */
export function withRunId(error: ErrorRecord, run_id: string): ErrorRecord {
  return { ...error, hint: error.hint.replaceAll(/\bRUN\b/g, run_id) }
}

/** An open gate with its choices and the command to answer it. */
export function gateLines(gate: GateRow, style: TerminalStyle, canContinue = true): string[] {
  if (isReplyGate(gate)) {
    const preview = truncateToWidth(toTerminalLine(gate.question), REPLY_PREVIEW_LENGTH)
    return replyLines(gate, style, { preview: wrapText(`  ${preview}`, style.width, 2), canContinue })
  }
  const { as } = (gate.detail ?? {}) as { as?: unknown }
  const sender = gate.asked_by ? `${toTerminalLine(gate.asked_by)} asks` : 'question'
  const label = typeof as === 'string' ? `you answer as ${toTerminalLine(as)}` : sender
  const call = permissionCallFrom(gate)
  return [
    renderLine(style, [
      ['yellow', '? '],
      ['bold', gate.gate_id],
      ['dim', `  ${label} in ${gate.run_id}`],
    ]),
    ...(call === undefined ? questionLines(gate.question, style) : permissionLines(gate.question, call, style)),
    ...(gate.agent_from === undefined
      ? []
      : wrapText(`  the agent is defined by ${toTerminalLine(gate.agent_from)}`, style.width, 4)),
    ...(gate.choices ? wrapText(`  one of: ${gate.choices.map(toTerminalLine).join(', ')}`, style.width, 4) : []),
    ...answerHintLines(gate, style, canContinue),
  ]
}

/** Whether a team has returned to the user and waits for the next message. */
export function isReplyGate({ detail }: { detail?: unknown }): boolean {
  return typeof detail === 'object' && detail !== null && 'kind' in detail && detail.kind === 'reply'
}

/** Characters of the last message that the inbox shows for a waiting team. */
const REPLY_PREVIEW_LENGTH = 160

interface ReplyDetails {
  preview?: readonly string[]
  canContinue?: boolean
}

function replyLines(gate: GateRow, style: TerminalStyle, details: ReplyDetails = {}): string[] {
  const { preview = [], canContinue = true } = details
  const chat = commandLines(`  or chat with it: troupe chat --resume ${commandArguments(gate.run_id)}`, style)
  return [
    renderLine(style, [
      ['yellow', '? '],
      ['bold', gate.gate_id],
      ['dim', `  the team waits for you in ${gate.run_id}`],
    ]),
    ...preview,
    ...answerHintLines(gate, style, canContinue),
    ...(gate.pending_answer_by === undefined
      ? [
          ...(canContinue ? chat : []),
          ...commandLines(`  or end it: troupe answer ${commandArguments(gate.gate_id)} ''`, style),
        ]
      : []),
  ]
}

const LINES_SHOWN = 20

/** The question in one paragraph; lists keep their lines. */
function questionLines(question: string, style: TerminalStyle): string[] {
  if (!/^\s*(\d+\.|-) /m.test(question)) return wrapText(`  ${toTerminalLine(question)}`, style.width, 2)
  const lines = stripControlCharacters(question.slice(0, 4000)).trim().split('\n')
  const more = lines.length > LINES_SHOWN ? ['…'] : []
  return [...lines.slice(0, LINES_SHOWN), ...more].flatMap((line) => wrapText(`  ${line.trim()}`, style.width, 4))
}

/** The command to answer, or to resume the run if an answer is recorded that no process has applied yet. */
export function answerHintLines(gate: GateRow, style: TerminalStyle, canContinue = true): string[] {
  if (gate.pending_answer_by !== undefined) {
    const by = toTerminalLine(gate.pending_answer_by)
    const resume = canContinue ? `; resume with: troupe resume ${commandArguments(gate.run_id)}` : ''
    return commandLines(`  answered by ${by}${resume}`, style)
  }
  const [first = permissionCallFrom(gate) === undefined ? undefined : 'allow'] = gate.choices ?? []
  // A choice that is not shown as it is cannot be copied either.
  const isShown = first !== undefined && first !== '' && first === toTerminalLine(first)
  const words = isShown ? commandArguments(gate.gate_id, first) : `${commandArguments(gate.gate_id)} YOUR ANSWER`
  return commandLines(`  answer with: troupe answer ${words}`, style)
}

function commandLines(text: string, style: TerminalStyle): string[] {
  return wrapText(withProgramName(style, text), style.width, text.startsWith('  ') ? 4 : 2)
}
