import type { ErrorRecord } from '../../../errors.ts'
import type { GateRow, RunResult } from '../../../index.ts'
import { quoted } from '../called.ts'
import { agreementOf } from './agreement-parts.ts'
import { counted, duration, exact, money } from './amounts.ts'
import { errorLines } from './error.ts'
import type { Look, Span } from './line.ts'
import { line, typable } from './line.ts'
import { outcomeText } from './outcome.ts'
import { permissionAsked, permissionLines } from './permission-question.ts'
import { GLYPHS } from './tree.ts'
import { clip, harmless, oneLine, wrap } from './width.ts'

/** What a run leaves behind for people: its text, or its whole output where there is no text. */
export function outputText(output: unknown): string {
  if (output === null || output === undefined) return ''
  if (typeof output === 'string') return output
  if (typeof output === 'object' && 'response' in output && typeof output.response === 'string') return output.response
  const agreement = agreementOf(output)
  if (agreement) return agreement.result ?? ''
  return outcomeText(output) ?? JSON.stringify(output, undefined, 2)
}

/** How it ended and what it took, in a line. */
export function summaryLine(result: RunResult, look: Look): string {
  const { status, stop_reason, usage } = result
  const [style, glyph] = GLYPHS[status] ?? (['dim', ''] as const)
  const words = status === 'pending' ? 'interrupted' : status
  const why = stop_reason && stop_reason !== status ? ` (${stop_reason})` : ''
  const facts = [duration(result.duration_ms), usageWords(usage), result.run_id]
  const spans: Span[] = [
    [style, `${glyph} ${words}${why}`],
    ['dim', `  ${facts.join(' · ')}`],
  ]
  return line(look, spans)
}

export function usageWords({ calls, input, output, usd }: RunResult['usage']): string {
  const cost = usd === null || usd === 0 ? '' : ` · ${money(usd)}`
  return `${counted(calls, 'call')} · ${exact(input + output)} tokens${cost}`
}

/** What to do next with a run that has not simply completed. */
export function nextSteps(result: RunResult, look: Look): string[] {
  const { status, run_id } = result
  if (status === 'waiting') {
    return result.gates.flatMap((gate) => (isReply(gate) ? replyLines(gate, look) : gateLines(gate, look)))
  }
  if (status === 'pending' || status === 'running') return command(`go on with: troupe resume ${run_id}`, look)
  if (status !== 'failed') return []
  const lines = result.error ? errorLines(ofRun(result.error, run_id), look) : []
  if (result.usage.calls === 0) return lines
  return [...lines, ...command(`see what happened: troupe show ${run_id}`, look), ...retry(result, look)]
}

function retry({ error, run_id }: RunResult, look: Look): string[] {
  if (!error?.retry) return []
  if (error.code === 'limit_reached')
    return command(`go on with more: troupe resume ${run_id} --limit NAME=VALUE`, look)
  return command(`try again from there: troupe resume ${run_id}`, look)
}

/** What is known of a limit does not say whose it is: the id stands in a hint, so that it can be typed. */
export function ofRun(error: ErrorRecord, run_id: string): ErrorRecord {
  return { ...error, hint: error.hint.replaceAll(/\bRUN\b/g, run_id) }
}

/** One question of the inbox. */
export function gateLines(gate: GateRow, look: Look): string[] {
  if (isReply(gate)) return replyLines(gate, look, wrap(`  ${clip(oneLine(gate.question), LAST_WORDS)}`, look.width, 2))
  const { as } = (gate.detail ?? {}) as { as?: unknown }
  const asked = gate.asked_by ? `${oneLine(gate.asked_by)} asks` : 'question'
  const by = typeof as === 'string' ? `you answer as ${oneLine(as)}` : asked
  const call = permissionAsked(gate)
  return [
    line(look, [
      ['yellow', '? '],
      ['bold', gate.gate_id],
      ['dim', `  ${by} in ${gate.run_id}`],
    ]),
    ...(call === undefined ? questionLines(gate.question, look) : permissionLines(gate, call, look)),
    ...(gate.choices ? wrap(`  one of: ${gate.choices.map(oneLine).join(', ')}`, look.width, 4) : []),
    ...answerLines(gate, look),
  ]
}

/** A team has returned to the user: what it said is its answer, and whatever comes back goes on with the talk. */
export function isReply({ detail }: { detail?: unknown }): boolean {
  return typeof detail === 'object' && detail !== null && 'kind' in detail && detail.kind === 'reply'
}

/** How much of a team's last words tells one team that waits from another. */
const LAST_WORDS = 160

function replyLines(gate: GateRow, look: Look, words: readonly string[] = []): string[] {
  return [
    line(look, [
      ['yellow', '? '],
      ['bold', gate.gate_id],
      ['dim', `  the team waits for you in ${gate.run_id}`],
    ]),
    ...words,
    ...answerLines(gate, look),
    ...command(`  or talk with it: troupe chat --resume ${gate.run_id}`, look),
    ...command(`  or end it: troupe answer ${gate.gate_id} ''`, look),
  ]
}

const LINES_SHOWN = 20

/** In one piece, unless it has a list: what there is to choose from stands below each other. */
function questionLines(question: string, look: Look): string[] {
  if (!/^\s*(\d+\.|-) /m.test(question)) return wrap(`  ${oneLine(question)}`, look.width, 2)
  const lines = harmless(question.slice(0, 4000)).trim().split('\n')
  const more = lines.length > LINES_SHOWN ? ['…'] : []
  return [...lines.slice(0, LINES_SHOWN), ...more].flatMap((words) => wrap(`  ${words.trim()}`, look.width, 4))
}

/** How to answer it. */
export function answerLines(gate: GateRow, look: Look): string[] {
  const [first = permissionAsked(gate) === undefined ? undefined : 'allow'] = gate.choices ?? []
  const example = first === undefined ? 'YOUR ANSWER' : quoted(first)
  return command(`  answer with: troupe answer ${gate.gate_id} ${example}`, look)
}

function command(words: string, look: Look): string[] {
  return wrap(typable(look, words), look.width, words.startsWith('  ') ? 4 : 2)
}
